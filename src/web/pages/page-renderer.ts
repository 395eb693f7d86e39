import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { canonicalZone, type ErrorPageModel, type Fault, renderPageModel } from '../../kernel';
import { ResellerDomains } from '../../identity';
import { Settings } from '../../platform';
import {
  defaultViewContext,
  type FormsContext,
  isLocale,
  type Locale,
  locales,
  type Translate,
  type ViewContext,
  ViewEngine,
} from '../../views';
import { cookieOf, sessionCookieName } from '../cookies';
import { FormDeclarations } from './form-declarations';
import { PageFrames } from './page-frame';
import { type HttpRequest, pathOf, queryOf } from '../http-request';
import { addressText, codeText, reasonText, refusedForm } from './refusal';

export const languageCookie = 'svc_language';
const themeCookie = 'svc_theme';
const shortcutsCookie = 'svc_shortcuts';
const timeZoneCookie = 'svc_time_zone';

export interface PortalIdentity {
  /** Base address of `/v1`. */
  readonly baseUrl: string;
  readonly portalUrl: string;
  readonly brandName: string;
}

@Injectable()
export class PageRenderer {
  constructor(
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
    private readonly frames: PageFrames,
    private readonly resellers: ResellerDomains,
    private readonly declarations: FormDeclarations,
  ) {}

  page(view: string, model: object, request: HttpRequest): string {
    return this.engine.render(view, model, this.contextOf(request));
  }

  fault(
    problem: Fault,
    request: HttpRequest,
  ): { html: string; status: number; headers: ErrorPageModel['headers'] } {
    const model = renderPageModel(problem, request.requestId);
    const isMissing = problem.code === 'not_found';
    const isFramed = request.actor !== undefined && request.restingAs === undefined;
    const view = isFramed ? 'errors/framed' : isMissing ? 'errors/not-found' : 'errors/error';
    const texts = this.textsFor(request);
    const { message } = problem.options;
    // A fault's own message is English: readers of other languages see it below the translated text of the code.
    const englishMessage = localeOf(request) === 'en' ? message : undefined;
    const addressMessage = request.method === 'GET' ? addressText(problem, texts) : null;
    const specificMessage = addressMessage ?? reasonText(problem, texts) ?? englishMessage;
    const humanMessage = specificMessage ?? codeText(problem, texts) ?? model.humanMessage;
    const inEnglish = specificMessage === undefined && message !== humanMessage ? message : undefined;
    const back = isFramed ? this.frames.backFrom(request, texts) : null;
    const values = { humanMessage, inEnglish, actionClass: problem.entry.actionClass, isMissing, back };
    return {
      html: this.page(view, { ...model, ...values }, request),
      status: model.status,
      headers: model.headers,
    };
  }

  /** Text of a fault for the portal's scripts, in the reader's language if translated. */
  refusalText(problem: Fault, request: HttpRequest): string {
    if (localeOf(request) === 'en') return problem.humanMessage;
    const texts = this.textsFor(request);
    return reasonText(problem, texts) ?? codeText(problem, texts) ?? problem.humanMessage;
  }

  localeOf(request: HttpRequest): Locale {
    return localeOf(request);
  }

  timeZoneOf(request: HttpRequest): string {
    return timeZoneOf(request.viewing?.timeZone ?? cookieOf(request.headers, timeZoneCookie));
  }

  /** Texts in the visitor's language; those of an extension take precedence. */
  textsFor(request: HttpRequest, extension?: string): Translate {
    return this.engine.translator(localeOf(request), extension);
  }

  portalOf(request: HttpRequest): PortalIdentity {
    const { baseUrl: portalUrl, brand } = this.hostOf(request);
    const { brandName, gatewayUrl } = this.settings;
    return { baseUrl: gatewayUrl ?? portalUrl, portalUrl, brandName: brand?.name ?? brandName };
  }

  private hostOf({ reseller }: HttpRequest): Pick<ViewContext, 'baseUrl' | 'brand'> {
    if (reseller === undefined) return { baseUrl: this.settings.baseUrl };
    const { name, hasLogo, accents, version } = reseller;
    return {
      baseUrl: this.resellers.originOf(reseller),
      brand: {
        name,
        ...(hasLogo ? { logo: `/portal/logo?v=${version}` } : {}),
        ...(accents === null ? {} : { styleSheet: `/portal/look.css?v=${version}` }),
      },
    };
  }

  private contextOf(request: HttpRequest): ViewContext {
    const { headers } = request;
    return defaultViewContext({
      locale: localeOf(request),
      theme: themeOf(cookieOf(headers, themeCookie)),
      hasShortcuts: cookieOf(headers, shortcutsCookie) !== 'off',
      timeZone: this.timeZoneOf(request),
      path: pathOf(request),
      query: Object.fromEntries(queryOf(request)),
      requestId: request.requestId,
      hostMark: hostMarkOf(cookieOf(headers, sessionCookieName(this.settings)) ?? '', this.settings),
      hasSession: Boolean(cookieOf(headers, sessionCookieName(this.settings))),
      ...this.hostOf(request),
      fragment: headers['hx-request'] === 'true',
      ...this.frames.contextOf(request, this.textsFor(request)),
      forms: this.formsOf(request),
    });
  }

  private formsOf(request: HttpRequest): FormsContext {
    const { refusal, refusedAddress, originalUrl } = request;
    const texts = this.textsFor(request);
    const forms = { page: originalUrl, declaredAt: this.declarations.at };
    if (refusedAddress !== undefined) {
      const text = addressText(refusedAddress, texts, true) ?? '';
      return { ...forms, notice: { text, code: refusedAddress.code } };
    }
    return refusal === undefined ? forms : { ...forms, refused: refusedForm(refusal, texts) };
  }
}

/** Differs per session, so that no visitor can forge the mark in another user's page. */
const hostMarkOf = (session: string, { sessionSecret }: Settings): string =>
  createHmac('sha256', sessionSecret).update(`host mark ${session}`).digest('base64url').slice(0, 22);

export function localeOf(request: HttpRequest): Locale {
  const accountLocale = request.viewing?.language;
  if (isLocale(accountLocale)) return accountLocale;
  const cookieLocale = cookieOf(request.headers, languageCookie);
  if (isLocale(cookieLocale)) return cookieLocale;
  const acceptedLanguages = (request.headers['accept-language'] ?? '')
    .split(',')
    .map((entry) => entry.trim().slice(0, 2));
  return acceptedLanguages.find(isLocale) ?? locales[0];
}

const themeOf = (value: string | null): ViewContext['theme'] =>
  value === 'light' || value === 'dark' ? value : 'system';

// Scripts escape the slash of a zone's name in cookies.
const timeZoneOf = (value: string | null): string =>
  canonicalZone(value?.replaceAll(/%2f/gi, '/') ?? 'UTC') ?? 'UTC';
