import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { requestSnippets, type SecretOnceModel } from '../../views';
import { type HttpRequest, PageFrames, PageRenderer } from '../../web';
import { exampleModels } from '../public/example-models';
import { publicModels } from '../public/public-models';

interface NewKeySecret {
  /** A locale key. */
  readonly heading: string;
  readonly name: string;
  readonly id: number;
  readonly secret: string;
  readonly models: readonly string[] | null;
}

/** Renders the only page that shows a secret; browsers and servers must not store it. */
@Injectable()
export class KeySecretPage {
  constructor(
    private readonly frames: PageFrames,
    private readonly pages: PageRenderer,
    private readonly catalogue: CatalogueService,
  ) {}

  page(request: HttpRequest, response: ServerResponse, newKey: NewKeySecret): Promise<string> {
    const translate = this.pages.textsFor(request);
    const exampleNames = exampleModels(publicModels(this.catalogue));
    const secret: SecretOnceModel = {
      id: 'fresh-key',
      heading: translate(newKey.heading, { name: newKey.name }),
      secret: newKey.secret,
      environmentName: 'SVC_API_KEY',
      snippets: requestSnippets({
        id: 'fresh-key-use',
        label: translate('keys.use'),
        baseUrl: this.pages.portalOf(request).baseUrl,
        key: newKey.secret,
        model: newKey.models?.[0] ?? exampleNames.chat,
        largeModel: newKey.models?.[0] ?? exampleNames.large,
      }),
      doneHref: `/dashboard/keys/${newKey.id}`,
    };
    return this.render('pages/dashboard/keys/secret', { name: newKey.name, secret }, request, response);
  }

  async render(view: string, model: object, request: HttpRequest, response: ServerResponse): Promise<string> {
    await this.frames.load(request, response);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.setHeader('cache-control', 'no-store');
    return this.pages.page(view, model, request);
  }
}
