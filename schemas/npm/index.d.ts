import type { Client } from "openapi-fetch";
import type { components, paths } from "./api.js";

export type { components, paths };
export type Schemas = components["schemas"];
export type HookEvent = Schemas["PageIndexedEvent"] | Schemas["PageRemovedEvent"] | Schemas["HookTestedEvent"];

/** Returns a client of the gateway at this address: openapi-fetch, with the API's paths. */
export function riffle(address: string, key?: string): Client<paths>;

/**
 * Returns the event of a request to a webhook's receiver, whose body is given as it came. Throws if no signature is of
 * the webhook's secret, or of one of its two secrets while they are exchanged.
 */
export function verify(
  body: Uint8Array<ArrayBuffer> | string,
  headers: Headers | Record<string, string>,
  secrets: string | string[],
  toleranceSeconds?: number,
): Promise<HookEvent>;
