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
import { trustedCookie, Visitor } from './visitor';

/** A person who has been recognised wants to go there. */
export interface Destination {
  readonly next?: string;
  /** The sign-in began at this other portal; there it ends too. */
  readonly handOff?: HandOff;
}

export interface Entered {
  /** The page that is next: for the code, for the consent, or the one that was wanted. */
  readonly to: string;
  readonly body: object;
}

type Outcome =
  { readonly kind: 'in'; readonly signedIn: SignedIn } | { readonly kind: 'asked'; readonly state: string };

const STEP_SECONDS = 600;
/** It is kept between the recognition and the code. */
const challengeCookie = 'svc_second_factor';
/** It is kept between the recognition at BASE_URL and the consent to go on to another portal. */
const consentCookie = 'svc_handoff_consent';

/** The steps after a password or an identity provider: the code, then the consent or the session. */
@Injectable()
export class Entrance {
  constructor(
    private readonly factors: SecondFactors,
    private readonly tokens: AccountTokens,
    private readonly handOffs: HandOffs,
    private readonly signIn: SignInService,
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly visitor: Visitor,
    private readonly settings: Settings,
  ) {}

  async enter(
    userId: number,
    request: HttpRequest,
    response: ServerResponse,
    destination: Destination,
  ): Promise<Entered> {
    if (await this.asksForCode(userId, request)) return this.askForCode(userId, response, destination);
    const outcome = await this.database.transaction((tx) => this.admit(tx, userId, request, destination));
    return this.tell(response, outcome, destination);
  }

  /** The answer names the person who has come as far as the code in this browser. */
  async begun(request: HttpRequest): Promise<{ userId: number; destination: Destination }> {
    const text = this.read(request, challengeCookie);
    const begun = await this.tokens.look(this.database.source.manager, 'second_factor', text);
    if (begun === null || begun.userId === null) throw fault('invalid_token');
    return { userId: begun.userId, destination: begun.data };
  }

  /** The code was right; the token of the step before it is used up. */
  async pass(request: HttpRequest, response: ServerResponse): Promise<Entered> {
    const { userId, destination } = await this.begun(request);
    const outcome = await this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'second_factor', this.read(request, challengeCookie));
      if (spent === null) throw fault('invalid_token');
      return this.admit(tx, userId, request, destination);
    });
    this.keep(response, challengeCookie, '', 0);
    return this.tell(response, outcome, destination);
  }

  /** This browser was asked to agree to it; the text is empty where it was asked nothing. */
  consentOf(request: HttpRequest): string {
    return this.read(request, consentCookie);
  }

  forgetConsent(response: ServerResponse): void {
    this.keep(response, consentCookie, '', 0);
  }

  private async asksForCode(userId: number, request: HttpRequest): Promise<boolean> {
    if (!(await this.factors.isOn(userId))) return false;
    const shown = cookieOf(request.headers, trustedCookie);
    return !(await this.factors.isTrusted(userId, portalHostOf(request), shown));
  }

  /** Until the code is right, there is no session. */
  private async askForCode(userId: number, response: ServerResponse, data: Destination): Promise<Entered> {
    const token = await this.database.transaction(
      (tx) => this.tokens.issue(tx, 'second_factor', { userId, data }),
      { withoutActivity: 'the sign-in is on record once it is complete' },
    );
    this.activity.nothingChanged();
    this.keep(response, challengeCookie, token, STEP_SECONDS);
    const to = '/login/second-factor';
    return { to, body: { ok: false, second_factor: true, next: to } };
  }

  private async admit(
    tx: Tx,
    userId: number,
    request: HttpRequest,
    { handOff }: Destination,
  ): Promise<Outcome> {
    if (handOff === undefined)
      return { kind: 'in', signedIn: await this.signIn.open(tx, userId, this.visitor.originOf(request)) };
    this.activity.nothingChanged();
    return { kind: 'asked', state: await this.handOffs.ask(tx, userId, handOff) };
  }

  private tell(response: ServerResponse, outcome: Outcome, { next }: Destination): Entered {
    if (outcome.kind === 'in') {
      const to = this.visitor.startSession(response, outcome.signedIn, next);
      return { to, body: { ok: true, status: outcome.signedIn.status, next: to } };
    }
    this.keep(response, consentCookie, outcome.state, STEP_SECONDS);
    const to = '/login/hand-off';
    return { to, body: { ok: false, hand_off: true, next: to } };
  }

  private read({ headers }: HttpRequest, name: string): string {
    return cookieOf(headers, privateCookieName(this.settings, name)) ?? '';
  }

  private keep(response: ServerResponse, name: string, value: string, seconds: number): void {
    addCookie(response, this.settings, privateCookieName(this.settings, name), value, seconds);
  }
}
