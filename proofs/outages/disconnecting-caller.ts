import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { shapes } from '../failover/dialects';
import { uuidv7 } from '#product/kernel';
import type { Endpoint, Shot } from './load';

/** A call whose caller disconnected early, as the caller saw it. */
export interface DisconnectedCall {
  readonly requestId: string;
  readonly shot: Shot;
  /** Time of the disconnect on the wall clock, in ms. */
  readonly disconnectedAt: number;
  /** Number of text pieces received. */
  readonly pieces: number;
  /** The response was complete before the caller disconnected. */
  readonly isTooLate: boolean;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
const wallClock = (): number => performance.timeOrigin + performance.now();

/** Disconnect after this many pieces of text, or after this time. */
export type DisconnectAfter = { readonly pieces: number } | { readonly ms: number };

export function callAndDisconnect(
  { url, key }: Endpoint,
  shot: Shot,
  when: DisconnectAfter,
): Promise<DisconnectedCall> {
  const requestId = uuidv7();
  const { path, body } = shapes[shot.dialect];
  const text = JSON.stringify(body({ ...shot, prompt: `${shot.prompt} call-${requestId}` }));
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-request-id': requestId,
  };
  return new Promise((resolve) => {
    const outgoing = request(url + path, { method: 'POST', headers, agent });
    const disconnection = new Disconnection(outgoing, (leftAt, pieces, tooLate) =>
      resolve({ requestId, shot, disconnectedAt: leftAt, pieces, isTooLate: tooLate }),
    );
    outgoing.on('error', () => disconnection.end(true));
    outgoing.on('response', (response) => disconnection.read(response, shot, when));
    outgoing.end(text);
    if ('ms' in when) setTimeout(() => disconnection.end(false), when.ms);
  });
}

export const closeConnections = (): void => agent.destroy();

/** Reads the response until the moment to disconnect, and disconnects once. */
class Disconnection {
  private pieces = 0;
  private rest = '';
  private hasDisconnected = false;

  constructor(
    private readonly sent: ClientRequest,
    private readonly onDisconnect: (leftAt: number, pieces: number, tooLate: boolean) => void,
  ) {}

  read(response: IncomingMessage, shot: Shot, when: DisconnectAfter): void {
    response.setEncoding('utf8').on('data', (text: string) => {
      if (!shot.stream) return;
      this.count(text, shot);
      if ('pieces' in when && this.pieces >= when.pieces) this.end(false);
    });
    response.on('error', () => undefined).on('close', () => this.end(true));
  }

  end(tooLate: boolean): void {
    if (this.hasDisconnected) return;
    this.hasDisconnected = true;
    const disconnectedAt = wallClock();
    this.sent.destroy();
    this.onDisconnect(disconnectedAt, this.pieces, tooLate);
  }

  private count(text: string, { dialect }: Shot): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? '';
      if (data.startsWith('{') && shapes[dialect].deltaOf(JSON.parse(data)) !== '') this.pieces += 1;
    }
  }
}

/** Returns the request id within a request recorded by a supplier. */
export const requestIdIn = (rawBody: string | null): string | undefined =>
  /call-([0-9a-f-]{36})/.exec(rawBody ?? '')?.[1];
