import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { requestSnippets, type SecretOnceModel } from '../../views';
import { type HttpRequest, PageFrames, PageRenderer } from '../../web';
import { exampleModels } from '../public/example-models';
import { publicModels } from '../public/public-models';

interface FreshSecret {
  /** A text of the locales. */
  readonly heading: string;
  readonly name: string;
  readonly id: number;
  readonly secret: string;
  readonly models: readonly string[] | null;
}

/** The answer that shows a secret: the only one, never kept by a browser or a server. */
@Injectable()
export class KeySecrets {
  constructor(
    private readonly frames: PageFrames,
    private readonly pages: PageRenderer,
    private readonly catalogue: CatalogueService,
  ) {}

  page(request: HttpRequest, response: ServerResponse, fresh: FreshSecret): Promise<string> {
    const translate = this.pages.textsFor(request);
    const usual = exampleModels(publicModels(this.catalogue));
    const secret: SecretOnceModel = {
      id: 'fresh-key',
      heading: translate(fresh.heading, { name: fresh.name }),
      secret: fresh.secret,
      environmentName: 'SVC_API_KEY',
      snippets: requestSnippets({
        id: 'fresh-key-use',
        label: translate('keys.use'),
        baseUrl: this.pages.placeOf(request).baseUrl,
        key: fresh.secret,
        model: fresh.models?.[0] ?? usual.chat,
        largeModel: fresh.models?.[0] ?? usual.large,
      }),
      doneHref: `/dashboard/keys/${fresh.id}`,
    };
    return this.render('pages/dashboard/keys/secret', { name: fresh.name, secret }, request, response);
  }

  /** A page in answer to a form. */
  async render(view: string, model: object, request: HttpRequest, response: ServerResponse): Promise<string> {
    await this.frames.load(request, response);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.setHeader('cache-control', 'no-store');
    return this.pages.page(view, model, request);
  }
}
