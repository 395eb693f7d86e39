import { endUserOf, tagsOf } from '../../../src/gateway/intake/labels';

test.each([
  [{}, null],
  [{ user: '' }, null],
  [{ user: 7 }, null],
  [{ user: 'grace' }, 'grace'],
  [{ user: 'g'.repeat(300) }, 'g'.repeat(256)],
])('end user is read from %j', (body, endUser) => {
  expect(endUserOf(body)).toBe(endUser);
});

test.each([
  [undefined, null],
  [null, null],
  ['text', null],
  [{}, null],
  [{ tags: 'night' }, null],
  [{ tags: [] }, null],
  [{ tags: [1, null, {}, ''] }, null],
  [{ tags: ['night', ' night ', 'batch'] }, ['night', 'batch']],
  [{ tags: ['t'.repeat(100)] }, ['t'.repeat(64)]],
  [
    { tags: Array.from({ length: 20 }, (_, place) => `tag ${place}`) },
    Array.from({ length: 10 }, (_, place) => `tag ${place}`),
  ],
])('tags are read from metadata %j', (metadata, tags) => {
  expect(tagsOf({ metadata })).toEqual(tags);
});
