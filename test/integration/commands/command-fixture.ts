import 'reflect-metadata';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { entities } from '#inside/boot/app.module';
import { loadSnapshot } from '#inside/catalogue/snapshot-loader';
import type { CatalogueSnapshot } from '../../../src/catalogue';
import { executeCommand } from '#inside/commands/run-command';
import { Database } from '#product/platform';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

export interface CommandResult {
  readonly code: number;
  readonly output: string;
  readonly complaint: string;
  /** The line that names the installation a command works on. */
  readonly installation: string;
}

/** A separate installation that runs commands in this process and captures their output. */
export class CommandFixture {
  readonly folder = makeScratchFolder('switchboard-commands-');
  readonly environment: Record<string, string>;

  private constructor(
    readonly test: TestDatabase,
    readonly database: Database,
  ) {
    this.environment = {
      NODE_ENV: 'test',
      DATA_FOLDER: join(this.folder, 'data'),
      DATABASE_URL: test.url,
      MIGRATION_DATABASE_URL: test.ownerUrl,
      SUPPLIER_ALLOW: '127.0.0.1',
    };
  }

  static async open(): Promise<CommandFixture> {
    const testDatabase = await createTestDatabase();
    const source = new DataSource(serviceDataSourceOptions({ url: testDatabase.url, entities, poolSize: 2 }));
    return new CommandFixture(testDatabase, new Database(await source.initialize()));
  }

  async run(words: string[], answer: boolean | (() => Promise<boolean>) = false): Promise<CommandResult> {
    let [output, complaint] = ['', ''];
    const code = await executeCommand(words, {
      environment: this.environment,
      write: (text) => (output += text),
      writeStderr: (text) => (complaint += text),
      confirm: () => (typeof answer === 'boolean' ? Promise.resolve(answer) : answer()),
    });
    const [installation = ''] = /^Installation: .*\n/.exec(complaint) ?? [];
    return { code, output, complaint: complaint.slice(installation.length), installation };
  }

  file(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Writes the text to gateway.yaml and applies it. */
  apply(yaml: string, ...options: string[]): Promise<CommandResult> {
    return this.run(['apply', this.file('gateway.yaml', yaml), '--yes', ...options]);
  }

  snapshot(): Promise<CatalogueSnapshot> {
    return loadSnapshot(this.database);
  }

  async close(): Promise<void> {
    await this.database.source.destroy();
    await this.test.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
