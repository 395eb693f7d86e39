import { once } from 'node:events';
import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectEncrypted } from 'node:tls';
import { contentOf, type Element, element, readElements, readFirst, number, numberOf, octets } from './ber';
import { BOOLEAN, ENUMERATED, OCTETS, SEQUENCE, SET } from './ber';

export interface LdapTarget {
  readonly host: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  readonly ca?: string;
}

export type Entry = ReturnType<typeof readEntry>;

/** Tags of section 4 of RFC 4511. */
const [BIND, BIND_RESULT, SIMPLE] = [0x60, 0x61, 0x80];
const [SEARCH, SEARCH_ENTRY, SEARCH_REFERENCE, SEARCH_RESULT, EQUALITY] = [0x63, 0x64, 0x73, 0x65, 0xa3];
const [VERSION, SUBTREE, NEVER, MAX_ENTRIES, MAX_SECONDS, MAX_RESPONSES] = [3, 2, 0, 2, 10, 100];

/** Runs a session on a connection of its own, which is always closed at the end. */
export async function converse<Result>(
  { host, port, isEncrypted, ca }: LdapTarget,
  signal: AbortSignal,
  talk: (session: LdapSession) => Promise<Result>,
): Promise<Result> {
  const options = { host, port, ca, servername: isIP(host) === 0 ? host : undefined };
  const socket = isEncrypted ? connectEncrypted(options) : connectPlainly(options);
  // Waiting for the next response throws an error that occurred before.
  addAbortSignal(signal, socket).on('error', () => undefined);
  try {
    await once(socket, isEncrypted ? 'secureConnect' : 'connect');
    return await talk(new LdapSession(socket));
  } finally {
    socket.destroy();
  }
}

export class LdapSession {
  private messageId = 0;

  constructor(
    private readonly socket: Socket,
    private readonly messages = readMessages(socket),
  ) {}

  /** Returns the result of a sign-in with a password: 0 is success, 49 a wrong name or password. */
  async bind(dn: string | Buffer, password: string): Promise<number> {
    // Without both, a directory reports success without a sign-in (RFC 4513, section 5.1).
    if (dn.length === 0 || password === '') throw new Error('a bind needs a name and a password');
    this.send(element(BIND, number(VERSION), octets(dn), octets(password, SIMPLE)));
    return readResult(await this.receive(BIND_RESULT));
  }

  /**
   * Returns at most two entries. Filters are binary on the wire, so `*` or `)` in the value is an ordinary character
   * and needs no escaping as in RFC 4515.
   */
  async search(
    base: string,
    attribute: string,
    value: string,
    attributes: readonly string[],
  ): Promise<Entry[]> {
    const scope = [number(SUBTREE, ENUMERATED), number(NEVER, ENUMERATED)];
    const limits = [number(MAX_ENTRIES), number(MAX_SECONDS), number(0, BOOLEAN)];
    const filter = element(EQUALITY, octets(attribute), octets(value));
    const names = element(SEQUENCE, ...attributes.map((name) => octets(name)));
    this.send(element(SEARCH, octets(base), ...scope, ...limits, filter, names));
    const entries: Entry[] = [];
    for (let answers = 0; answers < MAX_RESPONSES; answers += 1) {
      // A referral to another directory is not followed: nobody allowed us to send passwords there.
      const answer = await this.receive(SEARCH_ENTRY, SEARCH_RESULT, SEARCH_REFERENCE);
      if (answer.tag === SEARCH_ENTRY) entries.push(readEntry(answer));
      const code = answer.tag === SEARCH_RESULT ? readResult(answer) : 0;
      if (code !== 0) throw new Error(`the directory refused a search with result ${code}`);
      if (answer.tag === SEARCH_RESULT || entries.length === MAX_ENTRIES) return entries;
    }
    throw new Error('the answers of the directory have no end');
  }

  private send(operation: Buffer): void {
    this.socket.write(element(SEQUENCE, number((this.messageId += 1)), operation));
  }

  private async receive(...tags: readonly number[]): Promise<Element> {
    const { value } = await this.messages.next();
    const [id, operation] = readElements(contentOf(value, SEQUENCE));
    if (operation && numberOf(id) === this.messageId && tags.includes(operation.tag)) return operation;
    throw new Error('the directory answered something else');
  }
}

/** Chunks can end anywhere. */
async function* readMessages(socket: Socket): AsyncGenerator<Element, undefined> {
  let received: Buffer = Buffer.alloc(0);
  for await (const piece of socket) {
    received = Buffer.concat([received, piece as Buffer]);
    for (let next = readFirst(received); next !== null; next = readFirst(received)) {
      received = next.rest;
      yield next.element;
    }
  }
}

function readResult({ content }: Element): number {
  const [code, ...texts] = readElements(content);
  // Texts are not passed on, because they might repeat what was typed.
  for (const text of [texts[0], texts[1]]) contentOf(text, OCTETS);
  return numberOf(code, ENUMERATED);
}

function readEntry({ content }: Element) {
  const [dn, list] = readElements(content);
  const attributes = readElements(contentOf(list, SEQUENCE)).map((attribute) => {
    const [name, values] = readElements(contentOf(attribute, SEQUENCE));
    const texts = readElements(contentOf(values, SET)).map((value) => contentOf(value, OCTETS));
    return [contentOf(name, OCTETS).toString('latin1').toLowerCase(), texts] as const;
  });
  return { dn: contentOf(dn, OCTETS), attributes: new Map(attributes) };
}
