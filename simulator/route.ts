import type { IncomingHttpHeaders } from 'node:http';
import type { Style } from './complaint';
import type { JsonObject } from './json';
import type { Reply } from './reply';
import type { Settings } from './settings';
import type { UsageVariant } from './usage';

export interface Call {
  /** The parsed JSON body; empty for other media and for GET. */
  readonly body: JsonObject;
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly settings: Settings;
  readonly usageVariant: UsageVariant | undefined;
}

/** A pure function: the same call has the same answer. */
export type Handler = (call: Call) => Reply;

export interface Route {
  readonly method: 'GET' | 'POST';
  /** How errors look and where the key is looked for; `either` goes by the version header. */
  readonly style: Style | 'either';
  readonly media: 'json' | 'multipart' | 'none';
  readonly handler: Handler;
}
