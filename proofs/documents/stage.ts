import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Outcome, Program } from '../../test/system/program';
import { Rows } from '../../test/system/rows';

const project = join(__dirname, '..', '..', '..');
const DEADLINE_MS = 300_000;
const MOST_TRIES = 100;
/** The address and the key that the documents have in their examples. */
const EXAMPLE_ADDRESS = 'http://127.0.0.1:3000';
const EXAMPLE_KEY = 'svc_…';
/** The portal fills in this placeholder; readers fill in the others. */
const BASE_URL = '{{baseUrl}}';
const CHAT_MODEL = '{{chatModel}}';
const REQUEST = 'REQUEST_ID';

/**
 * The project is in a folder of its own, as a newcomer has it. Commands write nothing into the source, and
 * the data is new.
 */
export class Stage {
  /** Variables of the environment that documented commands read. */
  readonly variables: Record<string, string> = {};
  private readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'switchboard-documents-')));
  readonly place = join(this.folder, 'switchboard');
  private readonly running: Program[] = [];
  private database: Rows | null = null;
  private address = '';
  private key = '';
  private requestId = '';

  constructor() {
    const home = join(this.folder, 'home');
    for (const folder of [this.place, home]) mkdirSync(folder);
    for (const name of readdirSync(project))
      if (!name.startsWith('.') && name !== 'bin') symlinkSync(join(project, name), join(this.place, name));
    // A program behind a link would look for `.env` where the source is.
    cpSync(join(project, 'bin'), join(this.place, 'bin'), { recursive: true });
    // Tells the status of an answer without changing what is typed.
    writeFileSync(join(home, '.curlrc'), 'silent\nshow-error\nwrite-out = "\\nstatus %{http_code}\\n"\n');
    Object.assign(this.variables, {
      PATH: process.env.PATH ?? '',
      HOME: home,
      PORT: '0',
      METRICS_PORT: '0',
      SUPPLIER_ALLOW: '127.0.0.0/8',
      npm_config_update_notifier: 'false',
    });
  }

  /** Starts what does not end by itself, and waits until it says what it should. */
  async start(command: string, says: RegExp): Promise<RegExpExecArray> {
    const program = this.shell(command, this.place);
    this.running.push(program);
    return program.find(says);
  }

  /** The service listens here, and this key asks it. */
  serves(address: string, key: string): void {
    this.address = address;
    this.key = key;
  }

  asked(requestId: string): void {
    this.requestId = requestId;
  }

  /** A record is written a moment after its answer; a reader takes longer to type the next command. */
  async settled(): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const found = await this.rows.query('SELECT 1 AS there FROM request_record WHERE request_id = $1', [
        this.requestId,
      ]);
      if (found.length > 0) return;
      await delay(100);
    }
    throw new Error(`there is no record of ${this.requestId}`);
  }

  run(command: string, isInProject = false): Promise<Outcome> {
    return this.shell(command, isInProject ? project : this.place).finish(DEADLINE_MS);
  }

  path(name: string): string {
    return join(this.place, name);
  }

  /** The database of the service, as its owner sees it. */
  get rows(): Rows {
    this.database ??= new Rows(
      `postgres://switchboard_owner:${this.ownerPassword}@127.0.0.1:${this.databasePort}/switchboard`,
    );
    return this.database;
  }

  /** The embedded server keeps the passwords of its roles there. */
  get ownerPassword(): string {
    return (JSON.parse(this.inDatabaseFolder('passwords.json')) as { owner: string }).owner;
  }

  get databasePort(): string {
    return this.inDatabaseFolder(join('cluster', 'postmaster.pid')).split('\n')[3] ?? '';
  }

  async end(): Promise<void> {
    await this.database?.close();
    for (const program of this.running.reverse()) await program.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private shell(command: string, folder: string): Program {
    const text = command
      .replaceAll(EXAMPLE_ADDRESS, this.address)
      .replaceAll(EXAMPLE_KEY, this.key)
      .replaceAll(BASE_URL, this.address)
      .replaceAll(CHAT_MODEL, 'sim-small')
      .replaceAll(REQUEST, this.requestId);
    return Program.run('bash', ['-c', text], this.variables, { folder, isLeader: true, isKept: true });
  }

  private inDatabaseFolder(name: string): string {
    const folder = this.path(join('.data', 'postgres'));
    const elsewhere = readdirSync(folder).includes('location')
      ? readFileSync(join(folder, 'location'), 'utf8').trim()
      : folder;
    return readFileSync(join(elsewhere, name), 'utf8');
  }
}
