"""Trains the chain model: one command, seeded, resumable.

    python -m triton_models.statement_chain.training.train train.jsonl --dev dev.jsonl --output RUN \
        [--encoder NAME] [--weights FOLDER]

NAME is one of the encoders (`encoders`). FOLDER has the weights of one that is in no package. RUN gets a checkpoint and
the weights after each epoch: the same command goes on from the last one, also with another number of epochs.
`export.py` turns RUN into ONNX files.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from streams.errors import UsageError
from streams.models.inference.chain_windows import WINDOW_TOKENS, Window, window, windows
from streams.models.inference.tokenizing import plain_tokenizer
from triton_models.statement_chain.training.data import Document, Sentence, read_documents
from triton_models.statement_chain.training.encoders import ENCODERS, TOKENIZER, Weights, find_files, read_weights
from triton_models.statement_chain.training.network import DISTANCES, Answer, ChainNetwork, with_weights


@dataclass(frozen=True)
class Recipe:
    """The choices of a run. They are stored with the checkpoint."""

    encoder: str
    layers: int
    frozen: int
    """Lower layers that are not trained. Their output is computed once."""
    epochs: int = 12
    seed: int = 1
    windows_per_step: int = 4
    encoder_rate: float = 2e-4
    head_rate: float = 1e-3
    warm_up: float = 0.1
    """Share of the steps in which the learning rate rises."""
    token_weight: float = 1.0
    pointer_weight: float = 1.0
    mention_weight: float = 0.3
    leaf_weight: float = 0.2


def main() -> None:
    arguments = _arguments()
    encoder = ENCODERS[arguments.encoder]
    recipe = Recipe(
        encoder=arguments.encoder,
        layers=encoder.layers if arguments.layers is None else arguments.layers,
        frozen=encoder.frozen if arguments.frozen is None else arguments.frozen,
        epochs=arguments.epochs,
        seed=arguments.seed,
    )
    torch.set_num_threads(arguments.threads)
    try:
        path = find_files(recipe.encoder, arguments.weights)(TOKENIZER)
        weights = read_weights(recipe.encoder, arguments.weights, recipe.layers)
    except UsageError as error:
        sys.exit(str(error))
    tokenizer, special = plain_tokenizer(Tokenizer.from_file(str(path)))
    documents, dev = (read_documents(files, tokenizer) for files in (arguments.files, arguments.dev))
    arguments.output.mkdir(parents=True, exist_ok=True)
    Training(recipe, weights, documents, dev, special, arguments.output, torch.device(arguments.device)).run()


class Training:
    """One run. Everything that is random follows from the recipe's seed and the number of the epoch."""

    def __init__(
        self,
        recipe: Recipe,
        weights: Weights,
        documents: Sequence[Document],
        dev: Sequence[Document],
        special: tuple[int, int],
        output: Path,
        device: torch.device,
    ) -> None:
        self._recipe, self._documents, self._dev, self._special = recipe, documents, dev, special
        self._checkpoint, self._log = output / "checkpoint.pt", output / "log.jsonl"
        torch.manual_seed(recipe.seed)
        self._device = device
        self._network = with_weights(weights, recipe.layers, recipe.frozen).to(device)
        encoder = [p for name, p in self._network.named_parameters() if _is_encoder(name) and p.requires_grad]
        heads = [p for name, p in self._network.named_parameters() if not _is_encoder(name)]
        self._optimizer = torch.optim.AdamW(
            [{"params": encoder, "lr": recipe.encoder_rate}, {"params": heads, "lr": recipe.head_rate}],
            weight_decay=0.01,
        )
        self._examples = list(self._cut(documents))
        self._steps = recipe.epochs * (len(self._examples) // recipe.windows_per_step + 1)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, self._rate)
        self._epoch = 0
        self._resume()

    def run(self) -> None:
        while self._epoch < self._recipe.epochs:
            began = time.monotonic()
            loss = self._train_epoch()
            self._epoch += 1
            figures = {
                "epoch": self._epoch,
                "loss": round(loss, 4),
                **measured(self._network, self._dev, self._special),
            }
            figures["seconds"] = round(time.monotonic() - began)
            with self._log.open("a") as log:
                log.write(json.dumps(figures) + "\n")
            print(json.dumps(figures), flush=True)  # noqa: T201 - a script's result
            self._save()

    def _train_epoch(self) -> float:
        torch.manual_seed(self._recipe.seed * 1000 + self._epoch)
        self._network.train()
        total, count = 0.0, 0
        order = list(range(len(self._examples)))
        random.Random(f"{self._recipe.seed}-{self._epoch}").shuffle(order)  # noqa: S311 - a seeded order, no secret
        for index in order:
            document, part, hidden = self._examples[index]
            loss = self._loss(document.sentences[part.first : part.end], part, hidden)
            (loss / self._recipe.windows_per_step).backward()
            total, count = total + loss.item(), count + 1
            if count % self._recipe.windows_per_step == 0:
                self._step()
        self._step()
        return total / count

    def _step(self) -> None:
        nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad()

    def _cut(self, documents: Sequence[Document]) -> Iterator[tuple[Document, Window, Tensor]]:
        """The windows of all documents, with the output of the frozen layers."""
        self._network.eval()
        for document in documents:
            ids = [sentence.ids for sentence in document.sentences]
            start = end = 0
            while end < len(ids):
                end, left = start, WINDOW_TOKENS - 1
                while end < len(ids) and (len(ids[end]) + 1 <= left or end == start):
                    left -= len(ids[end]) + 1
                    end += 1
                part = window(ids, start, start, end, *self._special)
                yield document, part, self._lower(part)
                # The next window begins with the last third of this one, so that its sentences have a history.
                start = max(start + 1, (start + 2 * end + 2) // 3)

    @torch.no_grad()
    def _lower(self, part: Window) -> Tensor:
        with torch.autocast(self._device.type, torch.bfloat16):
            return self._network.encoder.lower(torch.from_numpy(part.ids).to(self._device)[None]).to(torch.bfloat16)

    def _loss(self, sentences: Sequence[Sentence], part: Window, hidden: Tensor) -> Tensor:
        recipe, network = self._recipe, self._network
        membership = tensors(part, self._device)[1]
        # Half precision only in the layers: one and a half times as fast on CPUs that have it.
        with torch.autocast(self._device.type, torch.bfloat16):
            hidden = network.encoder.upper(hidden.float())
        hidden = hidden[0].float()
        answer = network.answer(hidden, membership)
        needs = torch.tensor([float(sentence.needs) for sentence in sentences], device=self._device)
        leaves = torch.tensor([float(sentence.leaf) for sentence in sentences], device=self._device)
        labelled = torch.tensor([float(sentence.labelled) for sentence in sentences], device=self._device)
        loss = nn.functional.binary_cross_entropy_with_logits(answer.need, needs, labelled)
        loss = loss + recipe.leaf_weight * nn.functional.binary_cross_entropy_with_logits(answer.leaf, leaves, labelled)
        loss = loss + recipe.token_weight * _token_loss(answer, sentences, part)
        loss = loss + recipe.pointer_weight * _pointer_loss(answer.scores, sentences, part.first)
        return loss + recipe.mention_weight * self._mention_loss(hidden, membership, sentences, part)

    def _mention_loss(self, hidden: Tensor, membership: Tensor, sentences: Sequence[Sentence], part: Window) -> Tensor:
        starts = np.searchsorted(part.sentence_of[1:], np.arange(len(sentences))) + 1
        rows = [
            (int(starts[number]) + position, number, local)
            for number, sentence in enumerate(sentences)
            for position, targets in sentence.pointing
            if (local := [target - part.first for target in targets if target >= part.first])
        ]
        if not rows:
            return torch.zeros((), device=self._device)
        scores = self._network.point(hidden, torch.tensor([row[0] for row in rows], device=self._device), membership)
        own = torch.tensor([row[1] for row in rows], device=self._device)
        distance = own.unsqueeze(1) - torch.arange(len(sentences), device=self._device).unsqueeze(0)
        scores = scores + self._network.distance(distance.clamp(0, DISTANCES - 1)).squeeze(-1)
        scores = scores.masked_fill(distance <= 0, -1e4)
        return torch.stack([_marginal(scores[index], row[2]) for index, row in enumerate(rows)]).mean()

    def _rate(self, step: int) -> float:
        warm = max(1, int(self._steps * self._recipe.warm_up))
        return step / warm if step < warm else max(0.02, (self._steps - step) / (self._steps - warm))

    def _save(self) -> None:
        state = {
            "recipe": asdict(self._recipe),
            "shape": asdict(self._network.shape),
            "epoch": self._epoch,
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
        }
        partial = self._checkpoint.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)
        torch.save(self._network.state_dict(), self._checkpoint.with_name(f"epoch-{self._epoch}.pt"))

    def _resume(self) -> None:
        if not self._checkpoint.exists():
            return
        state = torch.load(self._checkpoint, map_location=self._device, weights_only=True)
        if state["recipe"] | {"epochs": self._recipe.epochs} != asdict(self._recipe):
            raise SystemExit(f"{self._checkpoint} is of another recipe: {state['recipe']}. Choose another --output")
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self._epoch = state["epoch"]


def tensors(part: Window, device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids, and which token belongs to which sentence."""
    return torch.from_numpy(part.ids).to(device), torch.from_numpy(part.membership).to(device)


def _token_loss(answer: Answer, sentences: Sequence[Sentence], part: Window) -> Tensor:
    starts = np.searchsorted(part.sentence_of[1:], np.arange(len(sentences))) + 1
    truth = torch.zeros_like(answer.token_need)
    for number, sentence in enumerate(sentences):
        for position in sentence.referring:
            if position < len(sentence.ids):
                truth[int(starts[number]) + position] = 1
    # Few tokens refer: the sum over a window is compared with its number of sentences, so that it weighs as `need`.
    loss = nn.functional.binary_cross_entropy_with_logits(answer.token_need, truth, reduction="sum")
    return loss / len(sentences)


def _pointer_loss(scores: Tensor, sentences: Sequence[Sentence], first: int) -> Tensor:
    losses = [
        _marginal(scores[number], local)
        for number, sentence in enumerate(sentences)
        if (local := [target - first for target in sentence.antecedents if target >= first])
    ]
    return torch.stack(losses).mean() if losses else torch.zeros((), device=scores.device)


def _marginal(scores: Tensor, targets: Sequence[int]) -> Tensor:
    """The negative logarithm of the probability that falls on the targets together."""
    return torch.logsumexp(scores, 0) - torch.logsumexp(scores[list(targets)], 0)


def measured(network: ChainNetwork, documents: Sequence[Document], special: tuple[int, int]) -> dict[str, float]:
    """Recall of need where 12 % of the other sentences are called needy, and how often the best antecedent is right."""
    network.eval()
    device = network.distance.weight.device
    need, truth, right, pointed = [], [], 0, 0
    with torch.no_grad():
        for document in documents:
            for part in windows([sentence.ids for sentence in document.sentences], *special):
                ids, membership = tensors(part, device)
                answer = network.answer(network.encode(ids), membership)
                for number in range(part.scored, part.end):
                    sentence, row = document.sentences[number], number - part.first
                    need.append(answer.need[row].item() if number else -99.0)
                    truth.append(sentence.needs)
                    if sentence.antecedents:
                        pointed += 1
                        right += int(answer.scores[row].argmax().item()) + part.first in sentence.antecedents
    scores, labels = np.array(need), np.array(truth)
    limit = np.quantile(scores[~labels], 0.88)
    return {
        "recall_at_12": round(float((scores[labels] > limit).mean()), 4),
        "pointer": round(right / max(1, pointed), 4),
    }


def _is_encoder(name: str) -> bool:
    return name.startswith("encoder.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="labelled sentences, JSONL")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="labelled sentences to measure with")
    parser.add_argument("--encoder", choices=ENCODERS, default="minilm")
    parser.add_argument("--weights", type=Path, help="folder of an encoder that is in no package, with checksums")
    parser.add_argument("--output", type=Path, required=True, help="folder for checkpoint and log")
    parser.add_argument("--layers", type=int, help="number of lower layers that are taken")
    parser.add_argument("--frozen", type=int, help="lower layers that are not trained")
    parser.add_argument("--epochs", type=int, default=Recipe.epochs)
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu (default), or cuda for a GPU")
    return parser.parse_args()


if __name__ == "__main__":
    main()
