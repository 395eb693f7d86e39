import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Extensions } from '../../extensions';
import { AdminViewService, type OrganisationName } from '../../identity';
import { type Actor, atLeast, isAdministrator } from '../../kernel';
import { LeanAdapter } from '../../platform';
import type { AdminStrip, NavigationGroup, Translate, ViewContext } from '../../views';
import type { FrameData } from '../frame-data';
import { type HttpRequest, pathOf } from '../http-request';
import { Notices } from '../notices';
import { extensionPages, type ExtensionPages, navigationFor } from './navigation';

@Injectable()
export class PageFrames {
  private readonly extensionPages: ExtensionPages;
  private waitingTerms: (userId: number) => Promise<string | null> = () => Promise.resolve(null);

  constructor(
    private readonly adapter: LeanAdapter,
    private readonly adminViews: AdminViewService,
    private readonly notices: Notices,
    { all }: Extensions,
  ) {
    this.extensionPages = extensionPages(all);
  }

  /** Set by the module of legal texts, which this module cannot import. */
  setTermsSource(waitingTerms: (userId: number) => Promise<string | null>): void {
    this.waitingTerms = waitingTerms;
  }

  async load(request: HttpRequest, response: ServerResponse): Promise<void> {
    const { actor, viewing } = request;
    const canNarrow = viewing?.adminView && actor !== undefined && atLeast(actor.role, 'platform_admin');
    request.frame = {
      notice: this.notices.take(request, response),
      organisations: canNarrow
        ? await this.adminViews.organisations(viewing.adminView?.organisation?.id)
        : [],
      terms: actor === undefined ? null : await this.waitingTerms(actor.userId),
    };
  }

  contextOf(request: HttpRequest, translate: Translate): Partial<ViewContext> {
    const { actor, frame } = request;
    const notices =
      frame?.notice === null || frame === undefined
        ? []
        : [{ tone: frame.notice.tone, text: translate(frame.notice.text, { ...frame.notice.values }) }];
    return { notices, ...(actor === undefined ? {} : this.viewerContext(request, actor, translate)) };
  }

  navigationOf(request: HttpRequest, { role }: Actor, translate: Translate): NavigationGroup[] {
    const isServed = (page: string): boolean => this.adapter.routes.methodsOf(page).includes('GET');
    return navigationFor({ role, path: pathOf(request), isServed }, this.extensionPages, translate);
  }

  /** Page of a rejected form, or the nearest page above that the user can open. */
  backFrom(request: HttpRequest, translate: Translate): { href: string; label?: string } | null {
    const { actor, formPage } = request;
    if (formPage !== undefined) return { href: formPage };
    if (actor === undefined) return null;
    const path = pathOf(request);
    const [nearest] = this.navigationOf(request, actor, translate)
      .flatMap(({ items }) => items)
      .filter(({ href }) => path.startsWith(`${href}/`))
      .sort((one, other) => other.href.length - one.href.length);
    return nearest === undefined ? null : { href: nearest.href, label: nearest.label };
  }

  private viewerContext(request: HttpRequest, actor: Actor, translate: Translate): Partial<ViewContext> {
    const { viewing, frame } = request;
    const adminView = viewing?.adminView ?? null;
    return {
      viewer: {
        name: actor.displayName === '' ? actor.email : actor.displayName,
        email: actor.email,
        organisation: viewing?.organisationName ?? undefined,
      },
      navigation: this.navigationOf(request, actor, translate),
      helpHref: '/dashboard/guide',
      ...(frame?.terms ? { terms: frame.terms } : {}),
      mayAdminister: isAdministrator(actor.role) && adminView === null,
      ...(adminView === null
        ? {}
        : { adminStrip: stripOf(actor, viewing?.organisationName, adminView, frame, translate) }),
    };
  }
}

function stripOf(
  actor: Actor,
  ownOrganisation: string | null | undefined,
  { organisation }: { readonly organisation: OrganisationName | null },
  frame: FrameData | undefined,
  translate: Translate,
): AdminStrip {
  const leaveAction = '/dashboard/toggle-admin-mode';
  const all = translate('admin.all-organisations');
  if (actor.scope.kind !== 'platform') {
    return { organisation: ownOrganisation ?? '', leaveAction };
  }
  return {
    organisation: organisation?.name ?? all,
    leaveAction,
    organisations: [
      { value: '', label: all, selected: organisation === null },
      ...(frame?.organisations ?? (organisation === null ? [] : [organisation])).map(({ id, name }) => ({
        value: String(id),
        label: name,
        selected: id === organisation?.id,
      })),
    ],
  };
}
