import { Passport, type Strategy } from 'passport';
import type { Request, Response } from 'express';
import type { HttpRequest } from '../../web';

export type StrategyOutcome<User> =
  | { readonly kind: 'recognised'; readonly user: User }
  | { readonly kind: 'refused'; readonly reason: unknown }
  | { readonly kind: 'sent-away'; readonly location: string };

const passport = new Passport();

/** Runs a passport strategy. Sessions are managed by the portal, so passport keeps no state between requests. */
export function runStrategy<User>(
  strategy: Strategy,
  request: HttpRequest,
  options: object = {},
): Promise<StrategyOutcome<User>> {
  return new Promise((resolve, reject) => {
    const settle = (error: unknown, user: unknown, reason: unknown): void => {
      if (error !== null && error !== undefined)
        reject(error instanceof Error ? error : new Error('the strategy failed', { cause: error }));
      else if (user === false || user === null || user === undefined) resolve({ kind: 'refused', reason });
      else resolve({ kind: 'recognised', user: user as User });
    };
    // Passport writes its outcome onto its arguments, so each request gets its own strategy and response object.
    const requestStrategy = Object.create(strategy) as Strategy;
    const responseStub = {
      setHeader: (name: string, value: string) => {
        if (name.toLowerCase() === 'location') resolve({ kind: 'sent-away', location: value });
      },
      end: () => undefined,
    };
    const authenticate = passport.authenticate(requestStrategy, { ...options, session: false }, settle) as (
      request: Request,
      response: Response,
      next: (error: unknown) => void,
    ) => void;
    authenticate(request as unknown as Request, responseStub as unknown as Response, reject);
  });
}
