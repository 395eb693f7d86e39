import { Controller } from '@nestjs/common';
import { requestSnippets, Settings, type SnippetTabsModel } from '../platform';
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
