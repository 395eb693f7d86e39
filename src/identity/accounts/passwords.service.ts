import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';

/** This is Argon2id with the package's default, OWASP's smallest recommended cost: some 20 ms and 19 MiB a hash. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const currentForm = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`;
/** A dummy hash: checked where there is no account, so that both cases take equally long. */
const decoyHash = `${currentForm}${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Loaded with the first password: a node without pages never sees one. */
const library = () => import('@node-rs/argon2');

/** Hashing uses the thread pool of file and DNS calls too: half of it stays free. */
const AT_ONCE = 2;
const MOST_WAITING = 64;

@Injectable()
export class Passwords {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  hash(password: string): Promise<string> {
    return this.inTurn(async () => (await library()).hash(normal(password), cost));
  }

  /** Takes equally long without a hash. */
  async matches(password: string, stored: string | null): Promise<boolean> {
    const right = await this.inTurn(async () => {
      const { verify } = await library();
      return verify(stored ?? decoyHash, normal(password)).catch(() => false);
    });
    return right && stored !== null;
  }

  /** It is true for a hash of an older cost: the next sign-in renews it. */
  isOutdated(stored: string): boolean {
    return !stored.startsWith(currentForm);
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= AT_ONCE) {
      if (this.waiting.length >= MOST_WAITING) throw fault('auth_unavailable', { retryAfterSeconds: 2 });
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else {
      this.running += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}

/** Unicode normalisation: another keyboard may compose the same characters differently. */
const normal = (password: string): string => password.normalize('NFKC');
