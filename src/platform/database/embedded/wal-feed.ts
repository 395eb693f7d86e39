import { chownSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerAccount } from './account';
import { createServerFolder } from './archive';

/** Returns a file of the archive; null if the archive has none of this name. */
export type FetchWal = (name: string) => Promise<Buffer | null>;

const POLL_MS = 20;

/**
 * The server requests a segment by creating a file and waits for another one. Without a feed it gives up eventually.
 */
const SCRIPT = `#!/bin/sh
folder=$(dirname "$0")
: > "$folder/wanted/$1"
tries=0
while [ "$tries" -lt 36000 ]; do
  if [ -e "$folder/given/$1" ]; then mv "$folder/given/$1" "$2" && exit 0; exit 255; fi
  if [ -e "$folder/absent/$1" ]; then rm -f "$folder/absent/$1"; exit 1; fi
  if [ -e "$folder/closed" ]; then exit 255; fi
  tries=$((tries + 1))
  sleep 0.05
done
exit 255
`;

/**
 * Feeds the archive to a recovering server, one segment per request: the complete archive would fill the disk, and a
 * process per segment would be slow.
 */
export class WalFeed {
  readonly command: string;
  /** Reason why a file of the archive could not be provided; the recovery has then failed. */
  failure: Error | undefined;
  providedCount = 0;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(
    private readonly folder: string,
    private readonly account: ServerAccount | undefined,
    private readonly fetch: FetchWal,
  ) {
    this.command = `sh ${shellQuote(join(folder, 'fetch.sh'))} "%f" "%p"`;
  }

  open(): void {
    rmSync(this.folder, { recursive: true, force: true });
    for (const each of ['', 'wanted', 'given', 'absent', 'draft'])
      createServerFolder(join(this.folder, each), this.account);
    this.write('fetch.sh', SCRIPT);
    this.running = this.serve();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await this.running;
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async serve(): Promise<void> {
    const { signal } = this.stopping;
    const requestFolder = join(this.folder, 'wanted');
    while (!signal.aborted) {
      for (const name of readdirSync(requestFolder)) {
        rmSync(join(requestFolder, name), { force: true });
        await this.provide(name);
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async provide(name: string): Promise<void> {
    if (this.failure !== undefined) return;
    try {
      const bytes = await this.fetch(name);
      this.write(join('draft', name), bytes ?? '');
      renameSync(
        join(this.folder, 'draft', name),
        join(this.folder, bytes === null ? 'absent' : 'given', name),
      );
      if (bytes !== null) this.providedCount += 1;
    } catch (error) {
      this.failure = error as Error;
      this.write('closed', '');
    }
  }

  private write(name: string, content: Buffer | string): void {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    if (this.account !== undefined) chownSync(path, this.account.uid, this.account.gid);
  }
}

const shellQuote = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
