import { Passport, type Strategy } from 'passport';
import type { Request, Response } from 'express';
import type { HttpRequest } from '../../web';

export type Recognised<User> =
  | { readonly kind: 'recognised'; readonly user: User }
  | { readonly kind: 'refused'; readonly reason: unknown }
  | { readonly kind: 'sent-away'; readonly location: string };

const passport = new Passport();

/** Asks one of passport's strategies. Sessions are ours, so nothing of passport is kept between two requests. */
export function runStrategy<User>(
  strategy: Strategy,
  request: HttpRequest,
  options: object = {},
): Promise<Recognised<User>> {
  return new Promise((resolve, reject) => {
    const settle = (error: unknown, user: unknown, reason: unknown): void => {
      if (error !== null && error !== undefined)
        reject(error instanceof Error ? error : new Error('the strategy failed', { cause: error }));
      else if (user === false || user === null || user === undefined) resolve({ kind: 'refused', reason });
      else resolve({ kind: 'recognised', user: user as User });
    };
    // Passport writes its outcome onto what it is given: each request has a strategy and an answer of its own.
    const own = Object.create(strategy) as Strategy;
    const answer = {
      setHeader: (name: string, value: string) => {
        if (name.toLowerCase() === 'location') resolve({ kind: 'sent-away', location: value });
      },
      end: () => undefined,
    };
    const ask = passport.authenticate(own, { ...options, session: false }, settle) as (
      request: Request,
      response: Response,
      next: (error: unknown) => void,
    ) => void;
    ask(request as unknown as Request, answer as unknown as Response, reject);
  });
}
