import { Injectable } from '@nestjs/common';
import { fault } from '../../kernel';

/** Argon2id with the package's default, OWASP's smallest recommended cost: about 20 ms and 19 MiB per hash. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const currentPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`;
/** Dummy hash that is checked if there is no account, so that both cases take equally long. */
const decoyHash = `${currentPrefix}${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Loaded with the first password, so that a node without pages never loads it. */
const library = () => import('@node-rs/argon2');

/** Hashing shares the thread pool of file and DNS calls, half of which stays free. */
const MAX_CONCURRENT = 2;
const MAX_WAITING = 64;

@Injectable()
export class PasswordHasher {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  hash(password: string): Promise<string> {
    return this.runQueued(async () => (await library()).hash(normalise(password), cost));
  }

  /** Takes equally long without a hash. */
  async matches(password: string, stored: string | null): Promise<boolean> {
    const isMatch = await this.runQueued(async () => {
      const { verify } = await library();
      return verify(stored ?? decoyHash, normalise(password)).catch(() => false);
    });
    return isMatch && stored !== null;
  }

  /** True for a hash of an older cost, which the next sign-in renews. */
  isOutdated(stored: string): boolean {
    return !stored.startsWith(currentPrefix);
  }

  private async runQueued<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= MAX_CONCURRENT) {
      if (this.waiting.length >= MAX_WAITING) throw fault('auth_unavailable', { retryAfterSeconds: 2 });
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

/** Unicode normalisation: keyboards can compose the same characters differently. */
const normalise = (password: string): string => password.normalize('NFKC');
