import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, HttpCode, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ActivityLog } from '../../../audit';
import { bindingOf, type HandOff, HandOffs, LinkedIdentities, SessionsService } from '../../../identity';
import { Fault, fault } from '../../../kernel';
import { IsIn, IsOptional, IsString, Matches, MaxLength, Settings } from '../../../platform';
import {
  Access,
  Action,
  addCookie,
  Audited,
  FormPipe,
  type HttpRequest,
  localPath,
  PageRenderer,
  portalHostOf,
  PortalHosts,
  privateCookieName,
  queryOf,
  QueryText,
  wantsPage,
} from '../../../web';
import { LegalLibrary } from '../../public/legal/legal-library';
import { SignInFlow } from '../sign-in-flow';
import { IsNextPath, IsTicked } from '../fields';
import { FormResponder } from '../form-responder';
import { SignUpModel } from '../sign-up-model';
import { VisitorSession } from '../visitor-session';
import { AcceptedTerms } from './accepted-terms';
import { IdentityLinks } from './identity-links';
import { IdentityProviderGuard, isProviderError } from './identity-provider.guard';
import { IdentityProviderRegistry } from './identity-provider-registry';
import {
  handOffCookie,
  type ProviderIntent,
  type ProviderSlot,
  ProviderStates,
  STATE_SECONDS,
} from './provider-states';

class ProviderStartQuery {
  @IsNextPath()
  next?: string;

  /** Legacy way to link a provider; redirects to the settings. */
  @IsOptional()
  @IsIn(['link'])
  purpose?: 'link';

  @IsOptional()
  @IsString()
  @MaxLength(300)
  portal?: string;

  @IsOptional()
  @Matches(/^[\w-]{43}$/, '43 characters of base64url')
  binding?: string;

  /** Acceptance of the terms, signed by the portal where the sign-in started. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  terms?: string;
}

class TermsForm {
  @IsTicked()
  terms?: unknown;

  @IsOptional()
  @IsIn(['idp1', 'idp2'])
  provider?: ProviderSlot;

  @IsNextPath()
  next?: string;
}

@Controller()
export class ProviderSignInController {
  constructor(
    private readonly providers: IdentityProviderRegistry,
    private readonly states: ProviderStates,
    private readonly identities: LinkedIdentities,
    private readonly sessions: SessionsService,
    private readonly handOffs: HandOffs,
    private readonly signInFlow: SignInFlow,
    private readonly activity: ActivityLog,
    private readonly terms: AcceptedTerms,
    private readonly legal: LegalLibrary,
    private readonly links: IdentityLinks,
    private readonly forms: FormResponder,
    private readonly signUp: SignUpModel,
    private readonly pages: PageRenderer,
    private readonly visitor: VisitorSession,
    private readonly hosts: PortalHosts,
    private readonly settings: Settings,
  ) {}

  /** Stores the acceptance in a signed cookie that the callback reads. */
  @Action('/auth/accept-tos', Access.anyone(), {
    body: TermsForm,
    audit: { none: 'kept in a cookie until there is an account' },
  })
  accept(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = {
      form: TermsForm,
      view: 'pages/account/signup',
      model: ({ next = '' }: Readonly<Record<string, string>>) => ({
        ...this.signUp.build(),
        values: { next },
      }),
    };
    return this.forms.respond(request, response, formView, ({ terms, provider, next }) => {
      const version = this.legal.currentTerms;
      if (terms === undefined) throw fault('tos_not_accepted', { param: 'terms', details: { version } });
      this.terms.remember(response, version);
      const slot = provider ?? 'idp1';
      const target = localPath(next, '');
      const query = target === '' ? '' : `?next=${encodeURIComponent(target)}`;
      const onward = { address: `/auth/${slot}${query}`, provider: this.providers.nameOf(slot) };
      return Promise.resolve({ onward, body: { ok: true, version } });
    });
  }

  @Get('/auth/idp1')
  @HttpCode(302)
  @Access.anyone()
  @Header('cache-control', 'no-store')
  startFirst(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query(FormPipe) query: ProviderStartQuery,
  ): Promise<void> {
    return this.start('idp1', request, response, query);
  }

  @Get('/auth/idp2')
  @HttpCode(302)
  @Access.anyone()
  @Header('cache-control', 'no-store')
  startSecond(
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
    @Query(FormPipe) query: ProviderStartQuery,
  ): Promise<void> {
    return this.start('idp2', request, response, query);
  }

  @UseGuards(IdentityProviderGuard('idp1'))
  @Get('/oauth/idp1/login/callback{/}')
  @HttpCode(303)
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  returnFromFirst(
    @QueryText('code') _code: string,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.handleReturn('idp1', request, response);
  }

  @UseGuards(IdentityProviderGuard('idp2'))
  @Get('/oauth/idp2/login/callback{/}')
  @HttpCode(303)
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  returnFromSecond(
    @QueryText('code') _code: string,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.handleReturn('idp2', request, response);
  }

  private async start(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
    query: ProviderStartQuery,
  ): Promise<void> {
    this.providers.find(slot);
    if (query.purpose === 'link') return redirect(response, '/dashboard/settings#providers-heading');
    const next = localPath(query.next, '');
    const portal = this.hosts.otherOriginOf(request);
    if (portal !== undefined) return this.redirectToBaseUrl(slot, portal, next, request, response);
    const handOff = await this.readHandOff(query, next);
    const acceptedVersion =
      this.terms.read(request) ?? (handOff && this.terms.readExported(query.terms ?? '', handOff.binding));
    const intent = { next, ...(acceptedVersion && { acceptedVersion }), ...(handOff && { handOff }) };
    redirect(response, await this.providers.startRedirect(slot, response, intent));
  }

  /**
   * State and callback belong to BASE_URL; the browser's binding stays with the portal. If a hand-off is not possible,
   * such as for an unverified host, the sign-in continues and ends at BASE_URL.
   */
  private async redirectToBaseUrl(
    slot: ProviderSlot,
    portal: string,
    next: string,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    const query = new URLSearchParams({ next });
    if (await this.handOffs.isAllowedPortal(portal)) {
      const bindingSecret = randomBytes(32).toString('base64url');
      const cookie = privateCookieName(this.settings, handOffCookie);
      addCookie(response, this.settings, cookie, bindingSecret, STATE_SECONDS);
      query.set('portal', portal);
      const binding = bindingOf(bindingSecret);
      query.set('binding', binding);
      const terms = this.terms.exportSigned(request, binding);
      if (terms !== undefined) query.set('terms', terms);
    }
    redirect(response, `${this.settings.baseUrl}/auth/${slot}?${query.toString()}`);
  }

  private async readHandOff(
    { portal, binding }: ProviderStartQuery,
    next: string,
  ): Promise<HandOff | undefined> {
    if (portal === undefined) return undefined;
    if (!(await this.handOffs.isAllowedPortal(portal))) throw fault('validation_error', { param: 'portal' });
    if (binding === undefined) throw fault('validation_error', { param: 'binding' });
    return { portal, binding, next };
  }

  private async handleReturn(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    if (isProviderError(request)) return this.handleProviderError(slot, request, response);
    const { identity, providerState: intent } = request;
    if (identity === undefined || intent === undefined) throw fault('invalid_request');
    try {
      if (intent.linkUserId !== undefined) {
        if ((await this.signedInUser(request)) !== intent.linkUserId) throw fault('invalid_session');
        await this.links.link(identity, intent.linkUserId);
        return redirect(response, '/dashboard/settings?saved=provider-linked#providers-heading');
      }
      const signUpContext = {
        language: this.pages.localeOf(request),
        timeZone: this.pages.timeZoneOf(request),
        acceptedVersion: intent.acceptedVersion ?? null,
        currentVersion: this.legal.currentTerms,
      };
      const userId = await this.identities.recognise(identity, signUpContext);
      const { next, handOff } = intent;
      const destination = { ...(next !== undefined && { next }), ...(handOff && { handOff }) };
      const { to } = await this.signInFlow.continueSignIn(userId, request, response, destination);
      redirect(response, to);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'tos_not_accepted' || !wantsPage(request)) throw error;
      this.activity.reportNoChange();
      redirect(response, returnAddress('/signup', 'terms', intent));
    }
  }

  /** Redirects a user whose sign-in failed at the provider back to where it started. */
  private async handleProviderError(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    const stateToken = queryOf(request).get('state');
    const intent: ProviderIntent = (await this.states.spend(request, slot, stateToken)) ?? {};
    this.states.forget(response);
    this.activity.reportNoChange();
    if (intent.linkUserId !== undefined) return redirect(response, '/dashboard/settings#providers-heading');
    const isCancelled = queryOf(request).get('error') === 'access_denied';
    const notice = isCancelled ? 'provider-cancelled' : 'provider-failed';
    redirect(response, returnAddress('/login', notice, intent));
  }

  private async signedInUser(request: HttpRequest): Promise<number> {
    const session = this.visitor.sessionOf(request);
    const sessionState = session === null ? null : await this.sessions.read(session, portalHostOf(request));
    if (sessionState?.kind !== 'actor') throw fault('authentication_required');
    return sessionState.userId;
  }
}

/** Returns the page of the portal where the sign-in started, with the requested page as its target. */
function returnAddress(path: string, notice: string, { next = '', handOff }: ProviderIntent = {}): string {
  const query = new URLSearchParams({ notice });
  const target = handOff?.next ?? next;
  if (target !== '') query.set('next', target);
  return `${handOff?.portal ?? ''}${path}?${query.toString()}`;
}

function redirect(response: ServerResponse, location: string): void {
  response.setHeader('location', location);
  response.end();
}
