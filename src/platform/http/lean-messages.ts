import {
  IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { parse, type ParsedUrlQuery } from 'node:querystring';

/** The little of Express's request and response that Nest needs, for the routes that Express never sees. */
export class LeanRequest extends IncomingMessage {
  declare requestId: string;
  declare params: Readonly<Record<string, string>>;
  declare originalUrl: string;

  get query(): ParsedUrlQuery {
    const url = this.url ?? '';
    const question = url.indexOf('?');
    return parse(question === -1 ? '' : url.slice(question + 1));
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

export class LeanResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values by turns. What Node is told one by one costs it three times as much. */
  private early: string[] = [];

  addHeader(name: string, value: string): void {
    this.early.push(name, value);
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { early } = this;
    this.early = [];
    const given = typeof reason === 'string' ? headers : reason;
    const isPlain = typeof reason !== 'string' && (given === undefined || Array.isArray(given));
    if (isPlain && this.getHeaderNames().length === 0)
      return super.writeHead(status, given === undefined ? early : early.concat(given as string[]));
    for (let place = 0; place < early.length; place += 2) {
      const name = early[place]!;
      if (!this.hasHeader(name)) this.setHeader(name, early[place + 1]!);
    }
    return typeof reason === 'string'
      ? super.writeHead(status, reason, given)
      : super.writeHead(status, given);
  }

  status(code: number): this {
    this.statusCode = code;
    return this;
  }

  json(body: unknown): this {
    const text = Buffer.from(JSON.stringify(body));
    if (!this.hasHeader('content-type')) this.setHeader('content-type', 'application/json; charset=utf-8');
    this.setHeader('content-length', text.length);
    return this.end(text);
  }

  send(body: string | Buffer = ''): this {
    if (body !== '' && !this.hasHeader('content-type'))
      this.setHeader('content-type', 'text/html; charset=utf-8');
    this.setHeader('content-length', Buffer.byteLength(body));
    return this.end(body);
  }
}

/** A header that nobody looks at again before it is sent. */
export function addHeader(response: ServerResponse, name: string, value: string): void {
  if (response instanceof LeanResponse) response.addHeader(name, value);
  else response.setHeader(name, value);
}
