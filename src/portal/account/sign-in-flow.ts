import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import {
  AccountTokens,
  type HandOff,
  HandOffs,
  SecondFactors,
  type SignedIn,
  SignInService,
} from '../../identity';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { addCookie, cookieOf, type HttpRequest, portalHostOf, privateCookieName } from '../../web';
import { trustedCookie, VisitorSession } from './visitor-session';

export interface SignInDestination {
  readonly next?: string;
  /** The other portal at which the sign-in started and will end. */
  readonly handOff?: HandOff;
}

export interface SignInResponse {
  /** The next page: second factor, consent, or the requested page. */
  readonly to: string;
  readonly body: object;
}

type AdmissionOutcome =
  { readonly kind: 'in'; readonly signedIn: SignedIn } | { readonly kind: 'asked'; readonly state: string };

const STEP_SECONDS = 600;
/** Cookie that holds the pending sign-in between recognition and the code. */
const challengeCookie = 'svc_second_factor';
/** Cookie that holds the pending consent between recognition at BASE_URL and the hand-off to another portal. */
const consentCookie = 'svc_handoff_consent';

/** The steps after a password or an identity provider: the code, then the consent or the session. */
@Injectable()
export class SignInFlow {
  constructor(
    private readonly factors: SecondFactors,
    private readonly tokens: AccountTokens,
    private readonly handOffs: HandOffs,
    private readonly signIn: SignInService,
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly visitor: VisitorSession,
    private readonly settings: Settings,
  ) {}

  async continueSignIn(
    userId: number,
    request: HttpRequest,
    response: ServerResponse,
    destination: SignInDestination,
  ): Promise<SignInResponse> {
    if (await this.requiresCode(userId, request)) return this.startChallenge(userId, response, destination);
    const outcome = await this.database.transaction((tx) => this.admit(tx, userId, request, destination));
    return this.respond(response, outcome, destination);
  }

  async readPendingSignIn(request: HttpRequest): Promise<{ userId: number; destination: SignInDestination }> {
    const token = this.readCookie(request, challengeCookie);
    const pending = await this.tokens.peek(this.database.source.manager, 'second_factor', token);
    if (pending === null || pending.userId === null) throw fault('invalid_token');
    return { userId: pending.userId, destination: pending.data };
  }

  /** Completes the sign-in after a correct code, and spends the token of the previous step. */
  async completeChallenge(request: HttpRequest, response: ServerResponse): Promise<SignInResponse> {
    const { userId, destination } = await this.readPendingSignIn(request);
    const outcome = await this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'second_factor', this.readCookie(request, challengeCookie));
      if (spent === null) throw fault('invalid_token');
      return this.admit(tx, userId, request, destination);
    });
    this.setCookie(response, challengeCookie, '', 0);
    return this.respond(response, outcome, destination);
  }

  /** Token of the consent that this browser was asked for; empty if none. */
  consentToken(request: HttpRequest): string {
    return this.readCookie(request, consentCookie);
  }

  forgetConsent(response: ServerResponse): void {
    this.setCookie(response, consentCookie, '', 0);
  }

  private async requiresCode(userId: number, request: HttpRequest): Promise<boolean> {
    if (!(await this.factors.isEnabled(userId))) return false;
    const trustToken = cookieOf(request.headers, trustedCookie);
    return !(await this.factors.isTrusted(userId, portalHostOf(request), trustToken));
  }

  /** No session exists until the code is right. */
  private async startChallenge(
    userId: number,
    response: ServerResponse,
    data: SignInDestination,
  ): Promise<SignInResponse> {
    const token = await this.database.transaction(
      (tx) => this.tokens.issue(tx, 'second_factor', { userId, data }),
      { withoutActivity: 'the sign-in is on record once it is complete' },
    );
    this.activity.reportNoChange();
    this.setCookie(response, challengeCookie, token, STEP_SECONDS);
    const to = '/login/second-factor';
    return { to, body: { ok: false, second_factor: true, next: to } };
  }

  private async admit(
    tx: Tx,
    userId: number,
    request: HttpRequest,
    { handOff }: SignInDestination,
  ): Promise<AdmissionOutcome> {
    if (handOff === undefined)
      return { kind: 'in', signedIn: await this.signIn.open(tx, userId, this.visitor.originOf(request)) };
    this.activity.reportNoChange();
    return { kind: 'asked', state: await this.handOffs.requestConsent(tx, userId, handOff) };
  }

  private respond(
    response: ServerResponse,
    outcome: AdmissionOutcome,
    { next }: SignInDestination,
  ): SignInResponse {
    if (outcome.kind === 'in') {
      const to = this.visitor.startSession(response, outcome.signedIn, next);
      return { to, body: { ok: true, status: outcome.signedIn.status, next: to } };
    }
    this.setCookie(response, consentCookie, outcome.state, STEP_SECONDS);
    const to = '/login/hand-off';
    return { to, body: { ok: false, hand_off: true, next: to } };
  }

  private readCookie({ headers }: HttpRequest, name: string): string {
    return cookieOf(headers, privateCookieName(this.settings, name)) ?? '';
  }

  private setCookie(response: ServerResponse, name: string, value: string, seconds: number): void {
    addCookie(response, this.settings, privateCookieName(this.settings, name), value, seconds);
  }
}
