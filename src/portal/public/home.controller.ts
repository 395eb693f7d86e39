import { Controller, Req } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { Settings } from '../../platform';
import { requestSnippets } from '../../views';
import { Access, type HttpRequest, Page, PageRenderer } from '../../web';
import { exampleModels } from './example-models';
import { publicModels } from './public-models';

const MODELS_SHOWN = 6;

@Controller()
export class HomeController {
  constructor(
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/', 'pages/public/home', Access.anyone())
  home(@Req() request: HttpRequest): object {
    const models = publicModels(this.catalogue);
    const { chat, large } = exampleModels(models);
    return {
      snippets: requestSnippets({
        id: 'first',
        label: this.pages.textsFor(request)('snippet.languages'),
        baseUrl: this.settings.baseUrl,
        key: 'svc_…',
        model: chat,
        largeModel: large,
      }),
      models: models.filter(({ price }) => price !== null).slice(0, MODELS_SHOWN),
      total: models.length,
    };
  }
}
