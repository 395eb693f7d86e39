import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import { inSession } from '../support/postgres';

/** A durable server, initially empty, that can be killed and restarted; nodes connect to a stable address. */
export class PostgresServer {
  private server?: EmbeddedPostgres;
  private readonly gate: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(readonly folder: string) {
    this.gate = createServer((inbound) => this.forward(inbound));
  }

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
    chmodSync(folder, 0o711);
    const postgres = new PostgresServer(folder);
    await new Promise<void>((resolve) => postgres.gate.listen(0, '127.0.0.1', resolve));
    await postgres.launch();
    return postgres;
  }

  /** Connection URL through the gate. */
  get url(): string {
    return this.throughGate(this.server!.url);
  }

  /** Connection URL of the owner, as used by migrations. */
  get ownerUrl(): string {
    return this.throughGate(this.server!.ownerUrl);
  }

  /** Kills the server as a crash would: without a shutdown or a checkpoint. */
  async kill(): Promise<void> {
    process.kill(this.pid, 'SIGKILL');
    for (const socket of this.sockets) socket.destroy();
    await this.server!.stop();
  }

  /** Shuts down as an operator would: clients are disconnected, and the next start needs no recovery. */
  async shutDown(): Promise<void> {
    await this.server!.stop();
    for (const socket of this.sockets) socket.destroy();
  }

  /** Suspends the server: it keeps its connections and does not respond until resumed. */
  pause(): void {
    for (const pid of this.processes()) process.kill(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.processes()) process.kill(pid, 'SIGCONT');
  }

  /** Allows or forbids writes, as after a failover to a standby: sessions are restarted and can be read-only. */
  async permitWrites(isPermitted: boolean): Promise<void> {
    const address = new URL(this.server!.ownerUrl);
    const name = address.pathname.slice(1);
    address.pathname = '/postgres';
    const change = isPermitted ? 'RESET' : 'SET';
    await inSession(address.href, async (client) => {
      await client.query(
        `ALTER DATABASE "${name}" ${change} default_transaction_read_only${isPermitted ? '' : ' = on'}`,
      );
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    });
  }

  async launch(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.server = await startEmbeddedPostgres({ dataFolder: this.folder });
        return;
      } catch (error) {
        // The processes of the killed server need a moment to notice its end.
        if (attempt === 20) throw error;
        await delay(100);
      }
    }
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.gate.close();
    await this.server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get pid(): number {
    const file = join(this.folder, 'postgres', 'cluster', 'postmaster.pid');
    return Number(readFileSync(file, 'utf8').split('\n')[0]);
  }

  /** Returns the server's main process and its children. */
  private processes(): number[] {
    const { pid } = this;
    const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
    const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
    return [pid, ...pairs.filter(([, parent]) => parent === pid).map(([child]) => child!)];
  }

  private throughGate(url: string): string {
    const address = new URL(url);
    address.port = String((this.gate.address() as AddressInfo).port);
    return address.href;
  }

  private forward(inbound: Socket): void {
    const outbound = connect(Number(new URL(this.server!.url).port), '127.0.0.1');
    for (const [socket, other] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
