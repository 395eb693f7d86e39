import { Controller, Req } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { requestSnippets } from '../../views';
import { Access, type HttpRequest, Page, PageRenderer } from '../../web';
import { exampleModels } from './example-models';
import { publicModels } from './public-models';

const LISTED_MODELS = 6;

@Controller()
export class PublicHomeController {
  constructor(
    private readonly pages: PageRenderer,
    private readonly catalogue: CatalogueService,
  ) {}

  @Page('/', 'pages/public/home', Access.anyone())
  home(@Req() request: HttpRequest) {
    const models = publicModels(this.catalogue);
    const { chat, large } = exampleModels(models);
    return {
      snippets: requestSnippets({
        id: 'first',
        label: this.pages.textsFor(request)('snippet.languages'),
        baseUrl: this.pages.portalOf(request).baseUrl,
        key: 'svc_…',
        model: chat,
        largeModel: large,
      }),
      models: models.filter(({ price }) => price !== null).slice(0, LISTED_MODELS),
      total: models.length,
    };
  }
}
