import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { ProcessCommand } from './messages';

/** A process that takes connections, and those that it has not confirmed yet. */
interface Receiver {
  readonly child: ChildProcess;
  readonly unconfirmed: Map<number, Socket>;
}

/**
 * The port of the node: each new connection goes to the next process in turn, or waits for one. A process confirms a
 * connection before reading from it, so the unconfirmed ones of a dead process go to another.
 */
export class SharedPort {
  private readonly receivers: Receiver[] = [];
  private readonly leaving: Receiver[] = [];
  private readonly waiting: Socket[] = [];
  private turn = 0;
  private sentCount = 0;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      // A caller that hangs up before its turn needs no log entry.
      socket.on('error', () => undefined);
      // Connections are counted by the processes.
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
    this.receivers.push({ child, unconfirmed: new Map() });
    for (const socket of this.waiting.splice(0)) this.handOver(socket);
  }

  /** Sends the process no more connections; some might still be on their way. */
  leave(child: ChildProcess): void {
    const index = this.receivers.findIndex((receiver) => receiver.child === child);
    if (index !== -1) this.leaving.push(...this.receivers.splice(index, 1));
  }

  /** Hands the unconfirmed connections of a dead process to others. */
  onExit(child: ChildProcess): void {
    this.leave(child);
    const index = this.leaving.findIndex((receiver) => receiver.child === child);
    for (const { unconfirmed } of index === -1 ? [] : this.leaving.splice(index, 1))
      for (const socket of unconfirmed.values()) this.handOver(socket);
  }

  onTaken(child: ChildProcess, id: number): void {
    const receiver = [...this.receivers, ...this.leaving].find((candidate) => candidate.child === child);
    // Closes only our handle: the process owns the connection.
    receiver?.unconfirmed.get(id)?.destroy();
    receiver?.unconfirmed.delete(id);
  }

  close(): void {
    this.server.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
  }

  private handOver(socket: Socket): void {
    const { receivers } = this;
    if (socket.destroyed) return;
    if (receivers.length === 0) return void this.waiting.push(socket);
    this.turn = (this.turn + 1) % receivers.length;
    const { child, unconfirmed } = receivers[this.turn]!;
    const id = (this.sentCount += 1);
    unconfirmed.set(id, socket);
    const order: ProcessCommand = { order: 'connection', id };
    // A failure is detected by the exit of the process.
    child.send(order, socket, { keepOpen: true }, () => undefined);
  }
}
