import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '../../kernel';
import { errorCode } from '../config';
import type { Mail } from './mail';

export interface OutboxMail extends Omit<Mail, 'id'> {
  readonly id: string;
  readonly from: string;
  readonly at: string;
}

const maxMails = 500;
const fileName = /^[\w-]+\.json$/;

/** Emails of an installation without a mail server, as files; the newest are kept, and shown in development. */
export class Outbox {
  private readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'outbox');
  }

  async write(from: string, mail: Mail): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const at = new Date().toISOString();
    const id = `${at.replaceAll(/\D/g, '')}-${randomUUID()}`;
    const draft = join(this.folder, `${id}.draft`);
    await writeFile(draft, JSON.stringify({ ...mail, id, from, at }), { mode: 0o600 });
    await rename(draft, join(this.folder, `${id}.json`));
    const surplus = (await this.names()).slice(maxMails);
    await Promise.all(surplus.map((name) => rm(join(this.folder, name), { force: true })));
  }

  /** Newest first. */
  async list(): Promise<OutboxMail[]> {
    const mails = await Promise.all((await this.names()).map((name) => this.load(name)));
    return mails.filter((mail) => mail !== undefined);
  }

  async read(id: string): Promise<OutboxMail | undefined> {
    return fileName.test(`${id}.json`) ? this.load(`${id}.json`) : undefined;
  }

  private async names(): Promise<string[]> {
    try {
      return (await readdir(this.folder))
        .filter((name) => fileName.test(name))
        .sort()
        .reverse();
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }
  }

  private async load(name: string): Promise<OutboxMail | undefined> {
    try {
      return parseJsonText(await readFile(join(this.folder, name), 'utf8')) as OutboxMail;
    } catch (error) {
      // Another process might have removed the file in the meantime.
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }
}
