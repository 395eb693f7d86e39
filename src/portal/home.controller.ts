import { Controller } from '@nestjs/common';
import { Settings } from '../platform';
import { requestSnippets, type SnippetTabsModel } from '../views';
import { Access, Page } from '../web';

@Controller()
export class HomeController {
  constructor(private readonly settings: Settings) {}

  @Page('/', 'pages/public/home', Access.anyone())
  home(): { snippets: SnippetTabsModel } {
    return {
      snippets: requestSnippets({
        id: 'first',
        label: 'Languages',
        baseUrl: this.settings.baseUrl,
        key: 'svc_…',
        model: 'sim-small',
      }),
    };
  }
}
