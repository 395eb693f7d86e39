import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createEncryptedServer } from 'node:tls';
import { type BerNode, readInteger, parseMessage, elementSize, encodeElement } from './ber-notation';

export interface StoredEntry {
  dn: string;
  password: string;
  attributes: Record<string, readonly (string | Buffer)[]>;
}

export interface LdapRequest {
  readonly operation: 'bind' | 'search';
  readonly id: number;
  /** DN of a bind, or the value a search filters by. */
  readonly subject: string;
}

/** Bytes of a response; `ends` closes the connection after them. */
export interface LdapResponse {
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
 * LDAP directory that accepts requests only as RFC 4511 defines them; any error is recorded as a fault and closes the
 * connection. Parses independently and shares no code with the product's writer.
 */
export class LdapStandIn {
  readonly entries: StoredEntry[] = [];
  readonly faults: string[] = [];
  readonly binds: ReceivedBind[] = [];
  readonly searches: string[] = [];
  readonly sockets = new Set<Socket>();
  /** Length bytes per element; 0 for the shortest form. */
  lengthBytes = 0;
  /** The only DN allowed to read entries; null if everybody is. */
  reader: string | null = null;
  behaviour: (request: LdapRequest, response: Buffer) => LdapResponse = (_, bytes) => ({ bytes });
  /** Positions at which a response is split into pieces. */
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
        for (let size = elementSize(received); size !== null; size = elementSize(received)) {
          const answer = this.createResponse(parseMessage(received.subarray(0, size)), session);
          received = received.subarray(size);
          void this.send(socket, answer);
        }
      } catch (error) {
        this.faults.push((error as Error).message);
        socket.destroy();
      }
    });
  }

  private async send(socket: Socket, { bytes, ends = false }: LdapResponse): Promise<void> {
    let from = 0;
    for (const to of [...this.cuts(bytes.length), bytes.length]) {
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      socket.write(bytes.subarray(from, to));
      from = to;
    }
    if (ends) socket.end();
  }

  private createResponse(message: BerNode, session: StandInSession): LdapResponse {
    const [id, operation, controls] = message.children(0x30, [2, 3]);
    const number = readInteger(id!, 0x02);
    if (controls !== undefined) throw new Error('a control was sent');
    if (number <= session.lastId) throw new Error('the number of a message is not above the last');
    session.lastId = number;
    if (operation!.tag === 0x60) return this.bind(operation!, number, session);
    if (operation!.tag === 0x63) return this.search(operation!, number, session);
    throw new Error(`an operation of tag ${operation!.tag} was sent`);
  }

  private bind(operation: BerNode, id: number, session: StandInSession): LdapResponse {
    const [version, name, authentication] = operation.children(0x60, [3]);
    const dn = name!.text(0x04);
    const password = authentication!.text(0x80);
    this.binds.push({ dn, password, connection: session.connection });
    const code = this.bindResult(readInteger(version!, 0x02), dn, password);
    session.boundAs = code === SUCCESS && password !== '' ? dn : '';
    return this.behaviour({ operation: 'bind', id, subject: dn }, this.message(id, this.result(0x61, code)));
  }

  private bindResult(version: number, dn: string, password: string): number {
    if (version !== 3) {
      this.faults.push(`version ${version} was asked for`);
      return PROTOCOL_ERROR;
    }
    // Succeeds without authenticating, as many directories do.
    if (password === '') return SUCCESS;
    return this.entries.some((entry) => entry.dn === dn && entry.password === password) ? SUCCESS : WRONG;
  }

  private search(operation: BerNode, id: number, session: StandInSession): LdapResponse {
    const [base, scope, aliases, size, time, typesOnly, filter, requestedAttributes] = operation.children(
      0x63,
      [8],
    );
    if (readInteger(scope!, 0x0a) !== 2 || readInteger(aliases!, 0x0a) !== 0)
      throw new Error('the scope is another');
    if (readInteger(time!, 0x02) < 1 || typesOnly!.boolean()) throw new Error('the bounds are others');
    const [attribute, value] = filter!.children(0xa3, [2]).map((part) => part.text(0x04));
    const names = requestedAttributes!.children(0x30).map((name) => name.text(0x04).toLowerCase());
    this.searches.push(value!);
    const matching = this.entries.filter(({ attributes }) => matches(attributes[attribute!], value!));
    const sizeLimit = readInteger(size!, 0x02);
    const canRead = this.reader === null || this.reader === session.boundAs;
    const isKnownBase = base!.text(0x04) === this.base;
    const code = !canRead
      ? NO_ACCESS
      : !isKnownBase
        ? NO_SUCH_OBJECT
        : matching.length > sizeLimit
          ? SIZE_LIMIT
          : SUCCESS;
    const visibleEntries = canRead && isKnownBase ? matching.slice(0, sizeLimit) : [];
    const response = Buffer.concat([
      ...visibleEntries.map((entry) => this.message(id, this.entry(entry, names))),
      this.message(id, this.result(0x65, code)),
    ]);
    return this.behaviour({ operation: 'search', id, subject: value! }, response);
  }

  /** Encodes a message, also for tests that send their own. */
  message(id: number, operation: Buffer): Buffer {
    return this.write(0x30, this.write(0x02, Buffer.of(id)), operation);
  }

  result(tag: number, code: number, ...more: readonly Buffer[]): Buffer {
    const diagnosticMessage = this.write(
      0x04,
      Buffer.from(code === SUCCESS ? '' : 'as typed: correct horse'),
    );
    return this.write(tag, this.write(0x0a, Buffer.of(code)), this.write(0x04), diagnosticMessage, ...more);
  }

  write(tag: number, ...content: readonly Buffer[]): Buffer {
    return encodeElement(tag, Buffer.concat(content), this.lengthBytes);
  }

  private entry({ dn, attributes }: StoredEntry, names: readonly string[]): Buffer {
    const visibleAttributes = Object.entries(attributes).filter(([name]) =>
      names.includes(name.toLowerCase()),
    );
    const list = visibleAttributes.map(([name, values]) => {
      const set = values.map((value) => this.write(0x04, Buffer.from(value)));
      return this.write(0x30, this.write(0x04, Buffer.from(name)), this.write(0x31, ...set));
    });
    return this.write(0x64, this.write(0x04, Buffer.from(dn)), this.write(0x30, ...list));
  }
}

interface StandInSession {
  readonly connection: number;
  boundAs: string;
  lastId: number;
}

/** Compares case-insensitively, as most directories do. */
const matches = (values: readonly (string | Buffer)[] = [], assertedValue: string): boolean =>
  values.some((value) => value.toString().toLowerCase() === assertedValue.toLowerCase());
