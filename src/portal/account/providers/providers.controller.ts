import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Query, Req, Res } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { ActivityLog } from '../../../audit';
import {
  AccountTokens,
  LinkedIdentities,
  type ProvenIdentity,
  SessionsService,
  SignInService,
} from '../../../identity';
import { Fault, fault } from '../../../kernel';
import { Database, Settings } from '../../../platform';
import {
  Access,
  Action,
  addCookie,
  Audited,
  cookieOf,
  FormPipe,
  type HttpRequest,
  localPath,
  PageRenderer,
  PortalHosts,
  wantsPage,
} from '../../../web';
import { LegalLibrary } from '../../public/legal/legal-library';
import { AccountNotices } from '../account-notices';
import { IsNext, IsTicked, IsToken } from '../fields';
import { FormAnswers } from '../form-answers';
import { SignUpModel } from '../sign-up-model';
import { Visitor } from '../visitor';
import { AcceptedTerms } from './accepted-terms';
import { type ProviderIntent, type ProviderSlot, STATE_SECONDS, stateCookie } from './provider-states';
import { Providers } from './providers';

class StartQuery {
  @IsNext()
  next?: string;

  /** An older way to link a provider; the settings do that now. */
  @IsOptional()
  @IsIn(['link'])
  purpose?: 'link';

  @IsOptional()
  @IsString()
  @MaxLength(300)
  portal?: string;

  @IsOptional()
  @IsToken()
  binding?: string;
}

class HandoffQuery {
  @IsOptional()
  @IsToken()
  token?: string;
}

class TermsForm {
  @IsTicked()
  terms?: unknown;

  @IsOptional()
  @IsIn(['idp1', 'idp2'])
  provider?: ProviderSlot;
}

const handoffCookie = 'svc_handoff';
const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url');

@Controller()
export class ProvidersController {
  private readonly pipe = new FormPipe();

  constructor(
    private readonly providers: Providers,
    private readonly identities: LinkedIdentities,
    private readonly sessions: SessionsService,
    private readonly signIn: SignInService,
    private readonly tokens: AccountTokens,
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly terms: AcceptedTerms,
    private readonly legal: LegalLibrary,
    private readonly notices: AccountNotices,
    private readonly answers: FormAnswers,
    private readonly signUp: SignUpModel,
    private readonly pages: PageRenderer,
    private readonly visitor: Visitor,
    private readonly hosts: PortalHosts,
    private readonly settings: Settings,
  ) {}

  /** Before leaving for a provider: the callback knows from the signed cookie that the terms were accepted. */
  @Action('/auth/accept-tos', Access.anyone(), {
    audit: { none: 'kept in a cookie until there is an account' },
  })
  accept(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<unknown> {
    const shown = { form: TermsForm, view: 'pages/account/signup', model: () => this.signUp.read() };
    return this.answers.answer(request, response, shown, ({ terms, provider }) => {
      const version = this.legal.currentTerms;
      if (terms === undefined) throw fault('tos_not_accepted', { param: 'terms', details: { version } });
      this.terms.remember(response, version);
      const slot = provider ?? 'idp1';
      const onward = { address: `/auth/${slot}`, provider: this.providers.nameOf(slot) };
      return Promise.resolve({ onward, body: { ok: true, version } });
    });
  }

  @Get('/auth/idp1')
  @Access.anyone()
  @Header('cache-control', 'no-store')
  startFirst(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query() query: object,
  ): Promise<void> {
    return this.start('idp1', request, response, query);
  }

  @Get('/auth/idp2')
  @Access.anyone()
  @Header('cache-control', 'no-store')
  startSecond(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query() query: object,
  ): Promise<void> {
    return this.start('idp2', request, response, query);
  }

  @Get('/oauth/idp1/login/callback{/}')
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  backFromFirst(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.back('idp1', request, response);
  }

  @Get('/oauth/idp2/login/callback{/}')
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  backFromSecond(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.back('idp2', request, response);
  }

  /** On a reseller's address: the token works once, for a minute, here, in the browser that began. */
  @Get('/auth/sso/complete')
  @Access.anyone()
  @Audited('session.signed-in')
  @Header('cache-control', 'no-store')
  async complete(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query() given: object,
  ): Promise<void> {
    const { token = '' } = (await this.pipe.transform(given, {
      type: 'query',
      metatype: HandoffQuery,
    })) as HandoffQuery;
    const kept = hashed(cookieOf(request.headers, handoffCookie) ?? '');
    const { signedIn, next } = await this.database.transaction(async (tx) => {
      const spent = await this.tokens.spend(tx, 'sso_handoff', token);
      const { portal, binding, next } = (spent?.data ?? {}) as ProviderIntent;
      const userId = spent?.userId ?? null;
      const here = portal !== undefined && new URL(portal).host === request.headers.host;
      if (userId === null || !here || !isSame(binding ?? '', kept)) throw fault('invalid_token');
      return { signedIn: await this.signIn.open(tx, userId, this.visitor.originOf(request)), next };
    });
    addCookie(response, this.settings, handoffCookie, '', 0);
    redirect(response, this.visitor.startSession(response, signedIn, next));
  }

  private async start(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
    given: object,
  ): Promise<void> {
    const query = (await this.pipe.transform(given, { type: 'query', metatype: StartQuery })) as StartQuery;
    this.providers.find(slot);
    if (query.purpose === 'link') return redirect(response, '/dashboard/settings#providers-heading');
    const portal = this.hosts.otherOriginOf(request);
    if (portal !== undefined) return this.passOn(slot, portal, query, response);
    const intent: ProviderIntent = {
      next: localPath(query.next, ''),
      acceptedVersion: this.terms.read(request),
      ...((await this.hosts.isOtherOrigin(query.portal ?? '')) && {
        portal: query.portal,
        binding: query.binding,
      }),
    };
    redirect(response, await this.providers.leave(slot, request, response, intent), 302);
  }

  /** State and callback live at BASE_URL; what ties the reseller's browser to them stays with it. */
  private passOn(slot: ProviderSlot, portal: string, { next }: StartQuery, response: ServerResponse): void {
    const kept = randomBytes(32).toString('base64url');
    addCookie(response, this.settings, handoffCookie, kept, STATE_SECONDS);
    const query = new URLSearchParams({ portal, binding: hashed(kept), next: localPath(next, '') });
    redirect(response, `${this.settings.baseUrl}/auth/${slot}?${query.toString()}`, 302);
  }

  private async back(slot: ProviderSlot, request: HttpRequest, response: ServerResponse): Promise<void> {
    try {
      const identity = await this.providers.find(slot).finish(request);
      const intent: ProviderIntent = request.providerState ?? {};
      addCookie(response, this.settings, stateCookie, '', 0);
      if (intent.linkUserId !== undefined) {
        if ((await this.signedInUser(request)) !== intent.linkUserId) throw fault('invalid_session');
        await this.link(identity, intent.linkUserId);
        return redirect(response, '/dashboard/settings?saved=provider-linked#providers-heading');
      }
      const newcomer = {
        language: this.pages.localeOf(request),
        timeZone: this.pages.timeZoneOf(request),
        acceptedVersion: intent.acceptedVersion ?? null,
        currentVersion: this.legal.currentTerms,
      };
      const signedIn = await this.identities.enter(identity, newcomer, this.visitor.originOf(request));
      if (intent.portal !== undefined) return redirect(response, await this.handOff(signedIn, intent));
      redirect(response, this.visitor.startSession(response, signedIn, intent.next));
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'tos_not_accepted' || !wantsPage(request)) throw error;
      this.activity.nothingChanged();
      redirect(response, '/signup?notice=terms');
    }
  }

  private async link(identity: ProvenIdentity, userId: number): Promise<void> {
    if ((await this.identities.link(identity, userId)) === 'known') return;
    const provider = this.providers.nameOf(identity.issuer);
    const values = { provider, identity: identity.email ?? identity.subject };
    await this.notices.notify(userId, 'provider-linked', values);
  }

  /** The session of this address was only made to be recognised; the reseller's browser gets its own. */
  private handOff(signedIn: { session: string; userId: number }, intent: ProviderIntent): Promise<string> {
    return this.database.transaction(async (tx) => {
      await this.sessions.end(tx, signedIn.session);
      const data = { portal: intent.portal, binding: intent.binding, next: intent.next };
      const token = await this.tokens.issue(tx, 'sso_handoff', { userId: signedIn.userId, data });
      return `${intent.portal ?? ''}/auth/sso/complete?token=${token}`;
    });
  }

  private async signedInUser(request: HttpRequest): Promise<number> {
    const session = this.visitor.sessionOf(request);
    const reading = session === null ? null : await this.sessions.read(session);
    if (reading?.kind !== 'actor') throw fault('authentication_required');
    return reading.userId;
  }
}

function redirect(response: ServerResponse, location: string, status = 303): void {
  response.statusCode = status;
  response.setHeader('location', location);
  response.end();
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
