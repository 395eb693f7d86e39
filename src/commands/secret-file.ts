import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { errorCode } from '../platform';
import { UsageError } from './command';

/** A new file that only its owner can read, created before the work so that no secret is lost. */
export class SecretFile {
  private isEmpty = true;

  private constructor(
    readonly path: string,
    private readonly descriptor: number,
  ) {}

  static open(path: string | undefined): SecretFile | undefined {
    if (path === undefined) return undefined;
    try {
      return new SecretFile(path, openSync(path, 'wx', 0o600));
    } catch (error) {
      throw new UsageError(`--secrets needs a new file, and ${path} cannot be made (${errorCode(error)}).`);
    }
  }

  write(text: string): void {
    writeSync(this.descriptor, text);
    this.isEmpty = false;
  }

  close(): void {
    closeSync(this.descriptor);
    if (this.isEmpty) rmSync(this.path);
  }
}
