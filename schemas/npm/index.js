import createClient from "openapi-fetch";

const TOLERANCE_SECONDS = 300;

export function riffle(address, key = "") {
  const headers = key ? { Authorization: `Bearer ${key.trim()}` } : {};
  return createClient({ baseUrl: address.replace(/\/+$/, ""), headers });
}

export async function verify(body, headers, secrets, toleranceSeconds = TOLERANCE_SECONDS) {
  const sent = new Headers(headers);
  const [id, stamp, given] = ["id", "timestamp", "signature"].map((name) => sent.get(`webhook-${name}`) ?? "");
  if (!/^\d{1,12}$/.test(stamp) || Math.abs(Date.now() / 1000 - Number(stamp)) > toleranceSeconds) {
    throw new Error("the request is of another time: it may be a copy");
  }
  const encoder = new TextEncoder();
  const content = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(`${id}.${stamp}.`);
  const signed = new Uint8Array(head.length + content.length);
  signed.set(head);
  signed.set(content, head.length);
  for (const secret of [secrets].flat()) {
    const key = await crypto.subtle.importKey(
      "raw", bytesOf(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"],
    );
    for (const each of given.split(" ").filter((one) => one.startsWith("v1,"))) {
      if (await crypto.subtle.verify("HMAC", key, bytesOf(each.slice(3)), signed)) {
        return JSON.parse(new TextDecoder().decode(content));
      }
    }
  }
  throw new Error("no signature of the request is of this secret");
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
