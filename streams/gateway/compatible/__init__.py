"""The forms of other services: SearXNG, Tavily, Open WebUI and OpenAI, so that programs made for them ask Riffle."""
