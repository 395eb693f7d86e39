import { Controller, Query } from '@nestjs/common';
import { publicCatalogue } from '../../../kernel';
import { Access, Page } from '../../../web';
import { errorsPath } from '../documents/links';
import { errorClasses, ErrorsQuery } from './errors.dto';

/** All error codes with their class and next step; `#code` links to one of them. */
@Controller()
export class ErrorPagesController {
  @Page(errorsPath, 'pages/public/errors', Access.anyone())
  errors(@Query() query: ErrorsQuery) {
    const { class: actionClass = '', q = '', reach = '' } = query;
    const terms = q.toLowerCase().trim().split(/\s+/);
    const all = publicCatalogue();
    const codes = all.filter((entry) => {
      const text = `${entry.code} ${entry.status} ${entry.type} ${entry.human_message}`.toLowerCase();
      return (
        (actionClass === '' || entry.action_class === actionClass) &&
        (reach === '' || entry.reach === reach) &&
        terms.every((word) => text.includes(word))
      );
    });
    return {
      codes,
      total: all.length,
      shown: codes.length,
      asked: query,
      classes: errorClasses.map((name) => ({ name, asked: name === actionClass })),
    };
  }
}
