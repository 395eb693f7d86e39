import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { type Actor, isUuid } from '../../kernel';
import { KeyRegister } from '../../keys';
import {
  Access,
  actorOf,
  type HttpRequest,
  IsFilterText,
  Page,
  PageFrames,
  PageRenderer,
  Responds,
  viewScope,
} from '../../web';

class JumpQuery {
  @IsFilterText()
  q?: string;
}

interface JumpTarget {
  readonly label: string;
  readonly href: string;
  /** The locales name it as `jump.<kind>`. */
  readonly kind: string;
}

const MOST_OF_A_KIND = 8;

/** The jump box finds pages, keys and models by name, and requests by id. A page of its own without scripts. */
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
    const wanted = (query.q ?? '').trim();
    const targets = wanted === '' ? [] : await this.targetsOf(wanted, request);
    const exact = targets.filter(({ label }) => label.toLowerCase() === wanted.toLowerCase());
    const best = exact.length === 1 ? exact[0] : targets.length === 1 ? targets[0] : undefined;
    if (best !== undefined) {
      response.statusCode = 302;
      response.setHeader('location', best.href);
    }
    const texts = this.pages.textsFor(request);
    return {
      wanted,
      targets: targets.map((target) => ({ ...target, kind: texts(`jump.${target.kind}`) })),
    };
  }

  private async targetsOf(wanted: string, request: HttpRequest): Promise<JumpTarget[]> {
    const actor = actorOf(request);
    const requests = isUuid(wanted)
      ? [{ label: wanted, href: `/dashboard/request-log?request_id=${wanted}`, kind: 'request' }]
      : [];
    return [
      ...requests,
      ...this.pagesLike(wanted, request, actor),
      ...(await this.keysLike(wanted, request)),
      ...this.modelsLike(wanted, actor),
    ];
  }

  private pagesLike(wanted: string, request: HttpRequest, actor: Actor): JumpTarget[] {
    return this.frames
      .navigationOf(request, actor, this.pages.textsFor(request))
      .flatMap(({ items }) => items)
      .filter(({ label }) => contains(label, wanted))
      .map(({ label, href }) => ({ label, href, kind: 'page' }));
  }

  private async keysLike(wanted: string, request: HttpRequest): Promise<JumpTarget[]> {
    const filter = { kind: 'client', name: wanted, limit: MOST_OF_A_KIND } as const;
    const { rows } = await this.keys.list(viewScope(request), filter);
    return rows.map(({ id, name }) => ({
      label: name,
      href: `/dashboard/keys/${id}`,
      kind: 'key',
    }));
  }

  private modelsLike(wanted: string, { organisationId, departmentId }: Actor): JumpTarget[] {
    const { snapshot } = this.catalogue;
    return snapshot.models
      .filter(({ name, displayName }) => contains(name, wanted) || contains(displayName, wanted))
      .filter(
        (model) => model.state === 'active' && snapshot.isOpenTo(model, { organisationId, departmentId }),
      )
      .slice(0, MOST_OF_A_KIND)
      .map(({ name }) => ({
        label: name,
        href: `/dashboard/models?q=${encodeURIComponent(name)}`,
        kind: 'model',
      }));
  }
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
