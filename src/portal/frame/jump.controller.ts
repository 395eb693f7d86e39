import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { type Actor, isUuid } from '../../kernel';
import { KeyRegister } from '../../keys';
import {
  Access,
  actorOf,
  type HttpRequest,
  Page,
  PageFrames,
  PageRenderer,
  Responds,
  viewScope,
} from '../../web';
import { JumpQuery } from './jump.dto';

interface JumpTarget {
  readonly label: string;
  readonly href: string;
  /** The locale key is `jump.<kind>`. */
  readonly kind: string;
}

const MAX_TARGETS_PER_KIND = 8;

/** Finds pages, keys and models by name, and requests by id. Works as a page of its own without scripts. */
@Controller()
export class JumpController {
  constructor(
    private readonly keys: KeyRegister,
    private readonly catalogue: CatalogueService,
    private readonly frames: PageFrames,
    private readonly pages: PageRenderer,
  ) {}

  @Responds({ redirect: 302 })
  @Page('/dashboard/jump', 'pages/dashboard/jump', Access.session())
  async jump(
    @Query() query: JumpQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const searchText = (query.q ?? '').trim();
    const targets = searchText === '' ? [] : await this.findTargets(searchText, request);
    const exactMatches = targets.filter(({ label }) => label.toLowerCase() === searchText.toLowerCase());
    const best = exactMatches.length === 1 ? exactMatches[0] : targets.length === 1 ? targets[0] : undefined;
    if (best !== undefined) {
      response.statusCode = 302;
      response.setHeader('location', best.href);
    }
    const texts = this.pages.textsFor(request);
    return {
      wanted: searchText,
      targets: targets.map((target) => ({ ...target, kind: texts(`jump.${target.kind}`) })),
    };
  }

  private async findTargets(searchText: string, request: HttpRequest): Promise<JumpTarget[]> {
    const actor = actorOf(request);
    const requests = isUuid(searchText)
      ? [{ label: searchText, href: `/dashboard/request-log?request_id=${searchText}`, kind: 'request' }]
      : [];
    return [
      ...requests,
      ...this.findPages(searchText, request, actor),
      ...(await this.findKeys(searchText, request)),
      ...this.findModels(searchText, actor),
    ];
  }

  private findPages(searchText: string, request: HttpRequest, actor: Actor): JumpTarget[] {
    return this.frames
      .navigationOf(request, actor, this.pages.textsFor(request))
      .flatMap(({ items }) => items)
      .filter(({ label }) => contains(label, searchText))
      .map(({ label, href }) => ({ label, href, kind: 'page' }));
  }

  private async findKeys(searchText: string, request: HttpRequest): Promise<JumpTarget[]> {
    const filter = { kind: 'client', name: searchText, limit: MAX_TARGETS_PER_KIND } as const;
    const { rows } = await this.keys.list(viewScope(request), filter);
    return rows.map(({ id, name }) => ({
      label: name,
      href: `/dashboard/keys/${id}`,
      kind: 'key',
    }));
  }

  private findModels(searchText: string, { organisationId, departmentId }: Actor): JumpTarget[] {
    const { snapshot } = this.catalogue;
    return snapshot.models
      .filter(({ name, displayName }) => contains(name, searchText) || contains(displayName, searchText))
      .filter(
        (model) => model.state === 'active' && snapshot.isOpenTo(model, { organisationId, departmentId }),
      )
      .slice(0, MAX_TARGETS_PER_KIND)
      .map(({ name }) => ({
        label: name,
        href: `/dashboard/models?q=${encodeURIComponent(name)}`,
        kind: 'model',
      }));
  }
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
