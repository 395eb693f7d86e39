import type { HostileTestbed } from '../testbed';
import type { CanaryMarks } from './marks';

export interface SentRequest {
  readonly what: string;
  readonly status: number;
  /** Head and body of the response as one text. */
  readonly answer: string;
  /** Marks that the request carried, or that were created for it. */
  readonly ownMarks: Set<string>;
}

export interface MarkedRequest {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string | FormData;
  /** Fault of the supplier for this request only. */
  readonly fault?: object;
}

/** Sends requests and records the responses. */
export class MarkedSender {
  readonly sentRequests: SentRequest[] = [];

  constructor(
    private readonly testbed: HostileTestbed,
    private readonly marks: CanaryMarks,
  ) {}

  async send(what: string, request: MarkedRequest): Promise<SentRequest> {
    const { method = 'POST', path, key = this.testbed.keys.demo, headers = {}, body, fault } = request;
    if (fault !== undefined) await this.testbed.control('POST', '/faults', { fault });
    const text = typeof body === 'object' && !(body instanceof FormData) ? JSON.stringify(body) : body;
    const answer = await fetch(this.testbed.url + path, {
      method,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const sentRequest = {
      what,
      status: answer.status,
      answer: `${JSON.stringify([...answer.headers])}\n${await answer.text()}`,
      ownMarks: new Set(this.marksIn(request)),
    };
    if (fault !== undefined) await this.testbed.control('DELETE', '/faults');
    this.sentRequests.push(sentRequest);
    return sentRequest;
  }

  private marksIn({ path, key, headers, body, fault }: MarkedRequest): string[] {
    const fields = body instanceof FormData ? [...body].map(([name, value]) => [name, nameOf(value)]) : body;
    const text = JSON.stringify([path, key, headers, fields, fault]);
    return this.marks.all.filter((mark) => text.includes(mark.text)).map(({ text: own }) => own);
  }
}

const nameOf = (value: string | File): string => (typeof value === 'string' ? value : value.name);
