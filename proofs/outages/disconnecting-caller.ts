import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { shapes } from '../failover/dialects';
import { uuidv7 } from '#product/kernel';
import type { Endpoint, Shot } from './load';

/** A call whose caller disconnected early, as the caller saw it. */
export interface Left {
  readonly requestId: string;
  readonly shot: Shot;
  /** When it hung up, on the clock of the machine, in milliseconds. */
  readonly leftAt: number;
  /** It had so many pieces of the answer's text. */
  readonly pieces: number;
  /** The answer was whole before it could leave. */
  readonly tooLate: boolean;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
const wallClock = (): number => performance.timeOrigin + performance.now();

/** After so many pieces of text, or after so long. */
export type When = { readonly pieces: number } | { readonly ms: number };

export function callAndDisconnect({ url, key }: Endpoint, shot: Shot, when: When): Promise<Left> {
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
    const sent = request(url + path, { method: 'POST', headers, agent });
    const leaving = new Disconnection(sent, (leftAt, pieces, tooLate) =>
      resolve({ requestId, shot, leftAt, pieces, tooLate }),
    );
    sent.on('error', () => leaving.end(true));
    sent.on('response', (response) => leaving.read(response, shot, when));
    sent.end(text);
    if ('ms' in when) setTimeout(() => leaving.end(false), when.ms);
  });
}

export const closeConnections = (): void => agent.destroy();

/** Reads the answer until the moment to disconnect, and disconnects once. */
class Disconnection {
  private pieces = 0;
  private rest = '';
  private hasLeft = false;

  constructor(
    private readonly sent: ClientRequest,
    private readonly told: (leftAt: number, pieces: number, tooLate: boolean) => void,
  ) {}

  read(response: IncomingMessage, shot: Shot, when: When): void {
    response.setEncoding('utf8').on('data', (text: string) => {
      if (!shot.stream) return;
      this.count(text, shot);
      if ('pieces' in when && this.pieces >= when.pieces) this.end(false);
    });
    response.on('error', () => undefined).on('close', () => this.end(true));
  }

  end(tooLate: boolean): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    const leftAt = wallClock();
    this.sent.destroy();
    this.told(leftAt, this.pieces, tooLate);
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

/** The call that a supplier's record is about. */
export const callIn = (rawBody: string | null): string | undefined =>
  /call-([0-9a-f-]{36})/.exec(rawBody ?? '')?.[1];
