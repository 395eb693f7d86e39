import { once } from 'node:events';
import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectEncrypted } from 'node:tls';
import { contentOf, type Element, element, elementsIn, firstIn, number, numberOf, octets } from './ber';
import { BOOLEAN, ENUMERATED, OCTETS, SEQUENCE, SET } from './ber';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  readonly ca?: string;
}

export type Entry = ReturnType<typeof entryIn>;

/** The tags of section 4 of RFC 4511. */
const [BIND, BIND_RESULT, SIMPLE] = [0x60, 0x61, 0x80];
const [SEARCH, FOUND, ELSEWHERE, SEARCH_RESULT, EQUALITY] = [0x63, 0x64, 0x73, 0x65, 0xa3];
const [VERSION, SUBTREE, NEVER, MOST_ENTRIES, MOST_SECONDS, MOST_ANSWERS] = [3, 2, 0, 2, 10, 100];

/** A conversation on a connection of its own. The connection ends with it, however it ends. */
export async function converse<Result>(
  { host, port, isEncrypted, ca }: Target,
  signal: AbortSignal,
  talk: (session: Session) => Promise<Result>,
): Promise<Result> {
  const options = { host, port, ca, servername: isIP(host) === 0 ? host : undefined };
  const socket = isEncrypted ? connectEncrypted(options) : connectPlainly(options);
  // The wait for the next answer throws an error that came before it.
  addAbortSignal(signal, socket).on('error', () => undefined);
  try {
    await once(socket, isEncrypted ? 'secureConnect' : 'connect');
    return await talk(new Session(socket));
  } finally {
    socket.destroy();
  }
}

export class Session {
  private asked = 0;

  constructor(
    private readonly socket: Socket,
    private readonly messages = messagesFrom(socket),
  ) {}

  /** The result of a sign-in with a password: 0 is success, 49 a wrong name or password. */
  async bind(dn: string | Buffer, password: string): Promise<number> {
    // Without both, a directory says success and lets in nobody (RFC 4513, section 5.1).
    if (dn.length === 0 || password === '') throw new Error('a bind needs a name and a password');
    this.ask(element(BIND, number(VERSION), octets(dn), octets(password, SIMPLE)));
    return resultIn(await this.answer(BIND_RESULT));
  }

  /**
   * At most two entries. A filter on the wire is no text: a `*` or `)` in the value is a letter like any other, and
   * nothing needs the escapes of RFC 4515.
   */
  async search(base: string, attribute: string, value: string, wanted: readonly string[]): Promise<Entry[]> {
    const scope = [number(SUBTREE, ENUMERATED), number(NEVER, ENUMERATED)];
    const bounds = [number(MOST_ENTRIES), number(MOST_SECONDS), number(0, BOOLEAN)];
    const filter = element(EQUALITY, octets(attribute), octets(value));
    const names = element(SEQUENCE, ...wanted.map((name) => octets(name)));
    this.ask(element(SEARCH, octets(base), ...scope, ...bounds, filter, names));
    const entries: Entry[] = [];
    for (let answers = 0; answers < MOST_ANSWERS; answers += 1) {
      // Another directory may know more. It is not asked: nobody said that it may have passwords.
      const answer = await this.answer(FOUND, SEARCH_RESULT, ELSEWHERE);
      if (answer.tag === FOUND) entries.push(entryIn(answer));
      const code = answer.tag === SEARCH_RESULT ? resultIn(answer) : 0;
      if (code !== 0) throw new Error(`the directory refused a search with result ${code}`);
      if (answer.tag === SEARCH_RESULT || entries.length === MOST_ENTRIES) return entries;
    }
    throw new Error('the answers of the directory have no end');
  }

  private ask(operation: Buffer): void {
    this.socket.write(element(SEQUENCE, number((this.asked += 1)), operation));
  }

  private async answer(...tags: readonly number[]): Promise<Element> {
    const { value } = await this.messages.next();
    const [id, operation] = elementsIn(contentOf(value, SEQUENCE));
    if (operation && numberOf(id) === this.asked && tags.includes(operation.tag)) return operation;
    throw new Error('the directory answered something else');
  }
}

/** Bytes come in pieces that end anywhere. */
async function* messagesFrom(socket: Socket): AsyncGenerator<Element, undefined> {
  let received: Buffer = Buffer.alloc(0);
  for await (const piece of socket) {
    received = Buffer.concat([received, piece as Buffer]);
    for (let next = firstIn(received); next !== null; next = firstIn(received)) {
      received = next.rest;
      yield next.element;
    }
  }
}

function resultIn({ content }: Element): number {
  const [code, ...texts] = elementsIn(content);
  // They are passed on nowhere, as they may repeat what was typed.
  for (const text of [texts[0], texts[1]]) contentOf(text, OCTETS);
  return numberOf(code, ENUMERATED);
}

function entryIn({ content }: Element) {
  const [dn, list] = elementsIn(content);
  const attributes = elementsIn(contentOf(list, SEQUENCE)).map((attribute) => {
    const [name, values] = elementsIn(contentOf(attribute, SEQUENCE));
    const texts = elementsIn(contentOf(values, SET)).map((value) => contentOf(value, OCTETS));
    return [contentOf(name, OCTETS).toString('latin1').toLowerCase(), texts] as const;
  });
  return { dn: contentOf(dn, OCTETS), attributes: new Map(attributes) };
}
