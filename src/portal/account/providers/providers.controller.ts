import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, HttpCode, Query, Req, Res } from '@nestjs/common';
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
import { Entrance } from '../entrance';
import { IsNext, IsTicked } from '../fields';
import { FormAnswers } from '../form-answers';
import { SignUpModel } from '../sign-up-model';
import { Visitor } from '../visitor';
import { AcceptedTerms } from './accepted-terms';
import { IdentityLinks } from './identity-links';
import { handOffCookie, type ProviderIntent, type ProviderSlot, STATE_SECONDS } from './provider-states';
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
  @Matches(/^[\w-]{43}$/, '43 characters of base64url')
  binding?: string;

  /** Acceptance of the terms at the portal where the sign-in began, signed there. */
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

  @IsNext()
  next?: string;
}

@Controller()
export class ProvidersController {
  constructor(
    private readonly providers: Providers,
    private readonly identities: LinkedIdentities,
    private readonly sessions: SessionsService,
    private readonly handOffs: HandOffs,
    private readonly entrance: Entrance,
    private readonly activity: ActivityLog,
    private readonly terms: AcceptedTerms,
    private readonly legal: LegalLibrary,
    private readonly links: IdentityLinks,
    private readonly answers: FormAnswers,
    private readonly signUp: SignUpModel,
    private readonly pages: PageRenderer,
    private readonly visitor: Visitor,
    private readonly hosts: PortalHosts,
    private readonly settings: Settings,
  ) {}

  /** Before leaving for a provider: the callback knows from the signed cookie that the terms were accepted. */
  @Action('/auth/accept-tos', Access.anyone(), {
    body: TermsForm,
    audit: { none: 'kept in a cookie until there is an account' },
  })
  accept(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = {
      form: TermsForm,
      view: 'pages/account/signup',
      model: ({ next = '' }: Readonly<Record<string, string>>) => ({
        ...this.signUp.read(),
        values: { next },
      }),
    };
    return this.answers.answer(request, response, shown, ({ terms, provider, next }) => {
      const version = this.legal.currentTerms;
      if (terms === undefined) throw fault('tos_not_accepted', { param: 'terms', details: { version } });
      this.terms.remember(response, version);
      const slot = provider ?? 'idp1';
      const wanted = localPath(next, '');
      const query = wanted === '' ? '' : `?next=${encodeURIComponent(wanted)}`;
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
    @Query(FormPipe) query: StartQuery,
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
    @Query(FormPipe) query: StartQuery,
  ): Promise<void> {
    return this.start('idp2', request, response, query);
  }

  @Get('/oauth/idp1/login/callback{/}')
  @HttpCode(303)
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  backFromFirst(
    @QueryText('code') _code: string,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.back('idp1', request, response);
  }

  @Get('/oauth/idp2/login/callback{/}')
  @HttpCode(303)
  @Access.anyone()
  @Audited(['session.signed-in', 'account.identity-linked'])
  @Header('cache-control', 'no-store')
  backFromSecond(
    @QueryText('code') _code: string,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.back('idp2', request, response);
  }

  private async start(
    slot: ProviderSlot,
    request: HttpRequest,
    response: ServerResponse,
    query: StartQuery,
  ): Promise<void> {
    this.providers.find(slot);
    if (query.purpose === 'link') return redirect(response, '/dashboard/settings#providers-heading');
    const next = localPath(query.next, '');
    const portal = this.hosts.otherOriginOf(request);
    if (portal !== undefined) return this.passOn(slot, portal, next, request, response);
    const handOff = await this.handOffOf(query, next);
    const acceptedVersion =
      this.terms.read(request) ?? (handOff && this.terms.readCarried(query.terms ?? '', handOff.binding));
    const intent = { next, ...(acceptedVersion && { acceptedVersion }), ...(handOff && { handOff }) };
    redirect(response, await this.providers.leave(slot, request, response, intent));
  }

  /**
   * State and callback live at BASE_URL; what ties this browser to them stays with the portal. Where nothing is handed
   * over, such as to a host that is not proven yet, the sign-in goes on at BASE_URL and ends there.
   */
  private async passOn(
    slot: ProviderSlot,
    portal: string,
    next: string,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    const query = new URLSearchParams({ next });
    if (await this.handOffs.leadsTo(portal)) {
      const kept = randomBytes(32).toString('base64url');
      const cookie = privateCookieName(this.settings, handOffCookie);
      addCookie(response, this.settings, cookie, kept, STATE_SECONDS);
      query.set('portal', portal);
      const binding = bindingOf(kept);
      query.set('binding', binding);
      const terms = this.terms.carry(request, binding);
      if (terms !== undefined) query.set('terms', terms);
    }
    redirect(response, `${this.settings.baseUrl}/auth/${slot}?${query.toString()}`);
  }

  private async handOffOf({ portal, binding }: StartQuery, next: string): Promise<HandOff | undefined> {
    if (portal === undefined) return undefined;
    if (!(await this.handOffs.leadsTo(portal))) throw fault('validation_error', { param: 'portal' });
    if (binding === undefined) throw fault('validation_error', { param: 'binding' });
    return { portal, binding, next };
  }

  private async back(slot: ProviderSlot, request: HttpRequest, response: ServerResponse): Promise<void> {
    try {
      if (portalHostOf(request) !== '') throw fault('origin_not_allowed');
      if (wantsPage(request) && queryOf(request).has('error'))
        return await this.leadBack(slot, request, response);
      const { identity, intent } = await this.providers.finish(slot, request, response);
      if (intent.linkUserId !== undefined) {
        if ((await this.signedInUser(request)) !== intent.linkUserId) throw fault('invalid_session');
        await this.links.link(identity, intent.linkUserId);
        return redirect(response, '/dashboard/settings?saved=provider-linked#providers-heading');
      }
      const newcomer = {
        language: this.pages.localeOf(request),
        timeZone: this.pages.timeZoneOf(request),
        acceptedVersion: intent.acceptedVersion ?? null,
        currentVersion: this.legal.currentTerms,
      };
      const userId = await this.identities.recognise(identity, newcomer);
      const { next, handOff } = intent;
      const destination = { ...(next !== undefined && { next }), ...(handOff && { handOff }) };
      const { to } = await this.entrance.enter(userId, request, response, destination);
      redirect(response, to);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'tos_not_accepted' || !wantsPage(request)) throw error;
      this.activity.nothingChanged();
      redirect(response, pageFor('/signup', 'terms', request.providerState));
    }
  }

  /** A person who cancelled at the provider is led back to where they began. */
  private async leadBack(slot: ProviderSlot, request: HttpRequest, response: ServerResponse): Promise<void> {
    const intent = await this.providers.abandon(slot, request, response);
    this.activity.nothingChanged();
    if (intent.linkUserId !== undefined) return redirect(response, '/dashboard/settings#providers-heading');
    const isCancelled = queryOf(request).get('error') === 'access_denied';
    const notice = isCancelled ? 'provider-cancelled' : 'provider-failed';
    redirect(response, pageFor('/login', notice, intent));
  }

  private async signedInUser(request: HttpRequest): Promise<number> {
    const session = this.visitor.sessionOf(request);
    const reading = session === null ? null : await this.sessions.read(session, portalHostOf(request));
    if (reading?.kind !== 'actor') throw fault('authentication_required');
    return reading.userId;
  }
}

/** A page at the portal where the sign-in began, which leads on to the page that was wanted there. */
function pageFor(path: string, notice: string, { next = '', handOff }: ProviderIntent = {}): string {
  const query = new URLSearchParams({ notice });
  const wanted = handOff?.next ?? next;
  if (wanted !== '') query.set('next', wanted);
  return `${handOff?.portal ?? ''}${path}?${query.toString()}`;
}

function redirect(response: ServerResponse, location: string): void {
  response.setHeader('location', location);
  response.end();
}
