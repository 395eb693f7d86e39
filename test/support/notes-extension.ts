import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RepeatingJobs } from '#product/platform';
import type { TestApp } from './app';
import { rowsOf } from './postgres';
import { makeScratchFolder } from './scratch';

const source = resolve(__dirname, '..', 'fixtures', 'extensions', 'notes');

/** A copy of the extension `notes` that a test may change, under an id of its own: roles belong to the whole server. */
export class NotesExtension {
  private readonly scratch = makeScratchFolder('switchboard-notes-');
  readonly path = join(this.scratch, 'extension');

  constructor(readonly id: string) {
    cpSync(source, this.path, { recursive: true });
    this.rewrite('index.cjs', (text) => text.replace("id: 'notes'", `id: '${id}'`));
  }

  get role(): string {
    return `ext_${this.id.replaceAll('-', '_')}`;
  }

  migration(name: string, sql: string | Buffer): this {
    writeFileSync(join(this.path, 'migrations', name), sql);
    return this;
  }

  withoutMigration(name: string): this {
    rmSync(join(this.path, 'migrations', name));
    return this;
  }

  rewrite(file: string, change: (text: string) => string): this {
    const path = join(this.path, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    return this;
  }

  /** A copy as it stands, as modules are loaded once. */
  copy(): NotesExtension {
    const other = new NotesExtension(this.id);
    rmSync(other.path, { recursive: true });
    cpSync(this.path, other.path, { recursive: true });
    return other;
  }

  remove(): void {
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

export interface Answered {
  readonly answer: unknown;
  readonly problem: string | null;
}

/** Gives the job of the extension an order, runs it, and reads what came of it. */
export async function ordered(
  app: TestApp,
  ownerUrl: string,
  { id, role }: NotesExtension,
  [kind, argument]: readonly [string, object],
): Promise<Answered> {
  const text = JSON.stringify(argument).replaceAll("'", "''");
  const [made] = await rowsOf<{ id: string }>(
    ownerUrl,
    `INSERT INTO ${role}.orders (kind, argument) VALUES ('${kind}', '${text}') RETURNING id`,
  );
  await app.application.get(RepeatingJobs).run(`${id}/work`);
  const [done] = await rowsOf<Answered>(
    ownerUrl,
    `SELECT answer, problem FROM ${role}.orders WHERE id = ${made?.id}`,
  );
  return done!;
}
