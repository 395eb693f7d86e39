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
import { type ProgramOutcome, Program } from '../../test/system/program';
import { InstallationDatabase } from '../../test/system/installation-database';

const project = join(__dirname, '..', '..', '..');
const DEADLINE_MS = 300_000;
const MAX_ATTEMPTS = 100;
/** Base URL and key used in the examples of the documents. */
const EXAMPLE_ADDRESS = 'http://127.0.0.1:3000';
const EXAMPLE_KEY = 'svc_…';
/** Placeholders: the portal fills in the base URL and model, readers the others. */
const BASE_URL = '{{baseUrl}}';
const CHAT_MODEL = '{{chatModel}}';
const REQUEST_ID = 'REQUEST_ID';

/** A separate project folder, as for a newcomer: commands write nothing into the source, and the data is new. */
export class Stage {
  /** Environment variables that documented commands read. */
  readonly variables: Record<string, string> = {};
  private readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'switchboard-documents-')));
  readonly checkoutFolder = join(this.folder, 'switchboard');
  private readonly running: Program[] = [];
  private database: InstallationDatabase | null = null;
  private address = '';
  private key = '';
  private requestId = '';

  constructor() {
    const home = join(this.folder, 'home');
    for (const folder of [this.checkoutFolder, home]) mkdirSync(folder);
    for (const name of readdirSync(project))
      if (!name.startsWith('.') && name !== 'bin')
        symlinkSync(join(project, name), join(this.checkoutFolder, name));
    // A program behind a symbolic link would look for `.env` in the source folder.
    cpSync(join(project, 'bin'), join(this.checkoutFolder, 'bin'), { recursive: true });
    // Reports the response status without changing the typed command.
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

  /** Starts a long-running command and waits for the expected output. */
  async start(command: string, says: RegExp): Promise<RegExpExecArray> {
    const program = this.shell(command, this.checkoutFolder);
    this.running.push(program);
    return program.find(says);
  }

  /** Records the service's address and the key for requests to it. */
  setService(address: string, key: string): void {
    this.address = address;
    this.key = key;
  }

  setRequestId(requestId: string): void {
    this.requestId = requestId;
  }

  /** Waits for the record, written shortly after the response; a reader takes longer to type the next command. */
  async waitForRecord(): Promise<void> {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
      const records = await this.rows.query('SELECT 1 AS there FROM request_record WHERE request_id = $1', [
        this.requestId,
      ]);
      if (records.length > 0) return;
      await delay(100);
    }
    throw new Error(`there is no record of ${this.requestId}`);
  }

  run(command: string, isInProject = false): Promise<ProgramOutcome> {
    return this.shell(command, isInProject ? project : this.checkoutFolder).finish(DEADLINE_MS);
  }

  path(name: string): string {
    return join(this.checkoutFolder, name);
  }

  /** Database of the service, accessed as its owner. */
  get rows(): InstallationDatabase {
    this.database ??= new InstallationDatabase(
      `postgres://switchboard_owner:${this.ownerPassword}@127.0.0.1:${this.databasePort}/switchboard`,
    );
    return this.database;
  }

  /** The embedded server stores the passwords of its roles in this file. */
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
      .replaceAll(REQUEST_ID, this.requestId);
    return Program.run('bash', ['-c', text], this.variables, { folder, isLeader: true, isKept: true });
  }

  private inDatabaseFolder(name: string): string {
    const folder = this.path(join('.data', 'postgres'));
    const hasExternalFolder = readdirSync(folder).includes('location')
      ? readFileSync(join(folder, 'location'), 'utf8').trim()
      : folder;
    return readFileSync(join(hasExternalFolder, name), 'utf8');
  }
}
