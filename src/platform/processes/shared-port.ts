import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Order } from './messages';

/** A process that takes connections, and those that it has not yet said it has. */
interface Taker {
  readonly child: ChildProcess;
  readonly untaken: Map<number, Socket>;
}

/**
 * The port of the node. Each new connection goes to the next process in turn; while none takes any, it waits. A process
 * says that it has a connection before it reads of it, so what one that died had not taken goes to another, whole.
 */
export class SharedPort {
  private readonly takers: Taker[] = [];
  private readonly leaving: Taker[] = [];
  private readonly waiting: Socket[] = [];
  private turn = 0;
  private given = 0;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      // A caller that hangs up before its turn needs no word.
      socket.on('error', () => undefined);
      // The count of connections is that of the processes.
      Object.assign(socket, { server: null });
      this.handOver(socket);
    });
  }

  static async open(host: string, port: number): Promise<SharedPort> {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
    await once(server.listen({ host, port }), 'listening');
    return new SharedPort(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  join(child: ChildProcess): void {
    this.takers.push({ child, untaken: new Map() });
    for (const socket of this.waiting.splice(0)) this.handOver(socket);
  }

  /** It gets no more; some may still be on their way to it. */
  leave(child: ChildProcess): void {
    const place = this.takers.findIndex((taker) => taker.child === child);
    if (place !== -1) this.leaving.push(...this.takers.splice(place, 1));
  }

  /** What it had not taken, others get. */
  died(child: ChildProcess): void {
    this.leave(child);
    const place = this.leaving.findIndex((taker) => taker.child === child);
    for (const { untaken } of place === -1 ? [] : this.leaving.splice(place, 1))
      for (const socket of untaken.values()) this.handOver(socket);
  }

  taken(child: ChildProcess, id: number): void {
    const taker = [...this.takers, ...this.leaving].find((one) => one.child === child);
    // This closes our end alone: the connection is the process's.
    taker?.untaken.get(id)?.destroy();
    taker?.untaken.delete(id);
  }

  close(): void {
    this.server.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
  }

  private handOver(socket: Socket): void {
    const { takers } = this;
    if (socket.destroyed) return;
    if (takers.length === 0) return void this.waiting.push(socket);
    this.turn = (this.turn + 1) % takers.length;
    const { child, untaken } = takers[this.turn]!;
    const id = (this.given += 1);
    untaken.set(id, socket);
    const order: Order = { order: 'connection', id };
    // A failure is told by the end of the process.
    child.send(order, socket, { keepOpen: true }, () => undefined);
  }
}
