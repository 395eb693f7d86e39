import type { IncomingHttpHeaders } from 'node:http';
import type { Style } from './complaint';
import type { JsonObject } from './json';
import type { Reply } from './reply';
import type { SimulatedResponseStore } from './dialects/response-store';
import type { Settings } from './settings';
import type { UsageVariant } from './usage';
import type { Wire } from './vendors';

export interface RouteCall {
  /** Parsed JSON body; empty for other media types and for GET. */
  readonly body: JsonObject;
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly query: URLSearchParams;
  /** API key of the call. */
  readonly key: string;
  readonly settings: Settings;
  /** State stored by earlier calls; all other state is per call. */
  readonly shelf: SimulatedResponseStore;
  readonly usageVariant: UsageVariant | undefined;
}

export type Handler = (call: RouteCall) => Reply;

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Error format and key header; `either` is decided by the version header. */
  readonly style: Style | 'either';
  readonly media: 'json' | 'multipart' | 'none';
  readonly handler: Handler;
  /** Later calls with the same key can refer to this one. */
  readonly stores?: true;
  /** API whose vendor rules apply here. */
  readonly wire?: Wire;
}
