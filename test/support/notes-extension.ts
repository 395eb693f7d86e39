import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RepeatingJobs } from '#product/platform';
import type { TestApp } from './app';
import { queryRows } from './postgres';
import { makeScratchFolder } from './scratch';

const source = resolve(__dirname, '..', 'fixtures', 'extensions', 'notes');

/**
 * Copy of the `notes` extension that a test can modify. Each has its own id, because roles belong to the database
 * server.
 */
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

  /** Copies the folder again, because modules are loaded once. */
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

export interface JobResult {
  readonly answer: unknown;
  readonly problem: string | null;
}

/** Queues an order for the extension's job, runs the job and reads the result. */
export async function runOrder(
  app: TestApp,
  ownerUrl: string,
  { id, role }: NotesExtension,
  [kind, argument]: readonly [string, object],
): Promise<JobResult> {
  const text = JSON.stringify(argument).replaceAll("'", "''");
  const [createdOrder] = await queryRows<{ id: string }>(
    ownerUrl,
    `INSERT INTO ${role}.orders (kind, argument) VALUES ('${kind}', '${text}') RETURNING id`,
  );
  await app.application.get(RepeatingJobs).run(`${id}/work`);
  const [completedOrder] = await queryRows<JobResult>(
    ownerUrl,
    `SELECT answer, problem FROM ${role}.orders WHERE id = ${createdOrder?.id}`,
  );
  return completedOrder!;
}
