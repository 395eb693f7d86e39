import type { IncomingHttpHeaders } from 'node:http';
import type { Style } from './complaint';
import type { JsonObject } from './json';
import type { Reply } from './reply';
import type { ResponseShelf } from './dialects/response-shelf';
import type { Settings } from './settings';
import type { UsageVariant } from './usage';
import type { Wire } from './vendors';

export interface Call {
  /** The parsed JSON body; empty for other media and for GET. */
  readonly body: JsonObject;
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The call was made with this key. */
  readonly key: string;
  readonly settings: Settings;
  /** State stored by earlier calls; all other calls are independent of it. */
  readonly shelf: ResponseShelf;
  readonly usageVariant: UsageVariant | undefined;
}

export type Handler = (call: Call) => Reply;

export interface Route {
  readonly method: 'GET' | 'POST';
  /** The style says how errors look and where the key is looked for; `either` goes by the version header. */
  readonly style: Style | 'either';
  readonly media: 'json' | 'multipart' | 'none';
  readonly handler: Handler;
  /** Later calls of the same key can refer to this one. */
  readonly stores?: true;
  /** The interface under whose rules vendors serve their models here. */
  readonly wire?: Wire;
}
