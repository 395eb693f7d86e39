import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createEncryptedServer } from 'node:tls';
import { type Node, numberIn, parseMessage, wholeSize, write } from './ber-notation';

export interface StoredEntry {
  dn: string;
  password: string;
  attributes: Record<string, readonly (string | Buffer)[]>;
}

export interface LdapRequest {
  readonly operation: 'bind' | 'search';
  readonly id: number;
  /** The entry that a bind names, or the value that a search asks for. */
  readonly about: string;
}

/** The bytes of an answer, and whether the connection ends after them. */
export interface LdapAnswer {
  readonly bytes: Buffer;
  readonly ends?: boolean;
}

export interface ReceivedBind {
  readonly dn: string;
  readonly password: string;
  readonly connection: number;
}

const [SUCCESS, PROTOCOL_ERROR, SIZE_LIMIT, NO_SUCH_OBJECT, WRONG, NO_ACCESS] = [0, 2, 4, 32, 49, 50];

/**
 * A directory that takes requests as RFC 4511 writes them and no others: whatever is wrong with one is a fault, and ends
 * its connection. It reads by its own rules, and shares no code with those who write.
 */
export class LdapStandIn {
  readonly entries: StoredEntry[] = [];
  readonly faults: string[] = [];
  readonly binds: ReceivedBind[] = [];
  readonly searches: string[] = [];
  readonly sockets = new Set<Socket>();
  /** How many bytes of length each element has; 0 for as few as it needs. */
  lengthBytes = 0;
  /** Entries that are refused to all but this one; null where everybody may read. */
  reader: string | null = null;
  behaviour: (asked: LdapRequest, right: Buffer) => LdapAnswer = (_, bytes) => ({ bytes });
  /** Where an answer is cut into pieces. */
  cuts: (size: number) => readonly number[] = () => [];
  private connections = 0;
  private server: Server | null = null;
  private port = 0;

  constructor(
    private readonly base: string,
    private readonly tls: { readonly cert: string; readonly key: string } | null = null,
  ) {}

  get url(): string {
    return `${this.tls === null ? 'ldap' : 'ldaps'}://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const serve = (socket: Socket): void => this.serve(socket);
    const server = this.tls === null ? createServer(serve) : createEncryptedServer(this.tls, serve);
    server.on('tlsClientError', () => undefined);
    await once(server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }

  private serve(socket: Socket): void {
    const session = { connection: (this.connections += 1), boundAs: '', lastId: 0 };
    this.sockets.add(socket);
    socket.setNoDelay(true).on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      try {
        for (let size = wholeSize(received); size !== null; size = wholeSize(received)) {
          const answer = this.answerTo(parseMessage(received.subarray(0, size)), session);
          received = received.subarray(size);
          void this.send(socket, answer);
        }
      } catch (error) {
        this.faults.push((error as Error).message);
        socket.destroy();
      }
    });
  }

  private async send(socket: Socket, { bytes, ends = false }: LdapAnswer): Promise<void> {
    let from = 0;
    for (const to of [...this.cuts(bytes.length), bytes.length]) {
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      socket.write(bytes.subarray(from, to));
      from = to;
    }
    if (ends) socket.end();
  }

  private answerTo(message: Node, session: Session): LdapAnswer {
    const [id, operation, controls] = message.children(0x30, [2, 3]);
    const number = numberIn(id!, 0x02);
    if (controls !== undefined) throw new Error('a control was sent');
    if (number <= session.lastId) throw new Error('the number of a message is not above the last');
    session.lastId = number;
    if (operation!.tag === 0x60) return this.bind(operation!, number, session);
    if (operation!.tag === 0x63) return this.search(operation!, number, session);
    throw new Error(`an operation of tag ${operation!.tag} was sent`);
  }

  private bind(operation: Node, id: number, session: Session): LdapAnswer {
    const [version, name, authentication] = operation.children(0x60, [3]);
    const dn = name!.text(0x04);
    const password = authentication!.text(0x80);
    this.binds.push({ dn, password, connection: session.connection });
    const code = this.codeOf(numberIn(version!, 0x02), dn, password);
    session.boundAs = code === SUCCESS && password !== '' ? dn : '';
    return this.behaviour({ operation: 'bind', id, about: dn }, this.message(id, this.result(0x61, code)));
  }

  private codeOf(version: number, dn: string, password: string): number {
    if (version !== 3) {
      this.faults.push(`version ${version} was asked for`);
      return PROTOCOL_ERROR;
    }
    // As many directories do: success, and nobody is let in.
    if (password === '') return SUCCESS;
    return this.entries.some((entry) => entry.dn === dn && entry.password === password) ? SUCCESS : WRONG;
  }

  private search(operation: Node, id: number, session: Session): LdapAnswer {
    const [base, scope, aliases, size, time, typesOnly, filter, wanted] = operation.children(0x63, [8]);
    if (numberIn(scope!, 0x0a) !== 2 || numberIn(aliases!, 0x0a) !== 0)
      throw new Error('the scope is another');
    if (numberIn(time!, 0x02) < 1 || typesOnly!.boolean()) throw new Error('the bounds are others');
    const [attribute, value] = filter!.children(0xa3, [2]).map((part) => part.text(0x04));
    const names = wanted!.children(0x30).map((name) => name.text(0x04).toLowerCase());
    this.searches.push(value!);
    const matching = this.entries.filter(({ attributes }) => matches(attributes[attribute!], value!));
    const most = numberIn(size!, 0x02);
    const isOpen = this.reader === null || this.reader === session.boundAs;
    const isKnown = base!.text(0x04) === this.base;
    const code = !isOpen
      ? NO_ACCESS
      : !isKnown
        ? NO_SUCH_OBJECT
        : matching.length > most
          ? SIZE_LIMIT
          : SUCCESS;
    const shown = isOpen && isKnown ? matching.slice(0, most) : [];
    const right = Buffer.concat([
      ...shown.map((entry) => this.message(id, this.entry(entry, names))),
      this.message(id, this.result(0x65, code)),
    ]);
    return this.behaviour({ operation: 'search', id, about: value! }, right);
  }

  /** One message, as a test may want to send it. */
  message(id: number, operation: Buffer): Buffer {
    return this.write(0x30, this.write(0x02, Buffer.of(id)), operation);
  }

  result(tag: number, code: number, ...more: readonly Buffer[]): Buffer {
    const said = this.write(0x04, Buffer.from(code === SUCCESS ? '' : 'as typed: correct horse'));
    return this.write(tag, this.write(0x0a, Buffer.of(code)), this.write(0x04), said, ...more);
  }

  write(tag: number, ...content: readonly Buffer[]): Buffer {
    return write(tag, Buffer.concat(content), this.lengthBytes);
  }

  private entry({ dn, attributes }: StoredEntry, names: readonly string[]): Buffer {
    const shown = Object.entries(attributes).filter(([name]) => names.includes(name.toLowerCase()));
    const list = shown.map(([name, values]) => {
      const set = values.map((value) => this.write(0x04, Buffer.from(value)));
      return this.write(0x30, this.write(0x04, Buffer.from(name)), this.write(0x31, ...set));
    });
    return this.write(0x64, this.write(0x04, Buffer.from(dn)), this.write(0x30, ...list));
  }
}

interface Session {
  readonly connection: number;
  boundAs: string;
  lastId: number;
}

/** Names are compared as most directories do it: capitals do not count. */
const matches = (values: readonly (string | Buffer)[] = [], asked: string): boolean =>
  values.some((value) => value.toString().toLowerCase() === asked.toLowerCase());
