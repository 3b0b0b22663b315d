//! The decision what becomes of the one comment, over listings of every kind.

use gate::model::github::{Action, Comment, Draft, Marker, plan};
use proptest::prelude::*;

use super::hub::{BOT, PERSON, draft};

/// What may stand on a pull request.
fn listing() -> impl Strategy<Value = Vec<Comment>> {
    let body = prop_oneof![
        (1_u64..5, 1_u32..3, "[a-c]").prop_map(|(number, attempt, text)| draft(number, attempt, &text).text(None)),
        (1_u64..5, "[a-c]").prop_map(|(number, text)| format!("> {}", draft(number, 1, &text).text(None))),
        (1_u64..5, "[a-c]").prop_map(|(number, text)| draft(number, 1, &text).text(None).replace("key=default", "key=other")),
        Just("looks good".to_owned()),
    ];
    let author = prop_oneof![3 => Just(BOT.to_owned()), 1 => Just(PERSON.to_owned()), 1 => Just("GitHub-Actions[bot]".to_owned()), 1 => Just(String::new())];
    proptest::collection::vec((author, body), 0..6).prop_map(|comments| {
        let comment = |(at, (author, body)): (usize, (String, String))| Comment {
            id: at as u64 + 1,
            url: String::new(),
            author,
            body,
        };
        comments.into_iter().enumerate().map(comment).collect()
    })
}

fn is_ours(comment: &Comment) -> bool {
    let marked = Marker::at_start(&comment.body).is_some_and(|marker| marker.key.as_str() == "default");
    marked && comment.author.eq_ignore_ascii_case(BOT)
}

/// The listing after a plan was carried out.
fn carried_out(mut comments: Vec<Comment>, draft: &Draft) -> Vec<Comment> {
    let plan = plan(&comments, BOT, draft);
    match plan.action {
        Action::Create(body) => {
            let id = comments.len() as u64 + 1;
            comments.push(Comment {
                id,
                url: String::new(),
                author: BOT.to_owned(),
                body,
            });
        }
        Action::Update(id, body) => comments
            .iter_mut()
            .filter(|comment| comment.id == id)
            .for_each(|comment| comment.body.clone_from(&body)),
        Action::Keep(_) | Action::Leave(_) => {}
    }
    comments.retain(|comment| !plan.surplus.contains(&comment.id));
    comments
}

proptest! {
    #[test]
    fn one_comment_remains_with_the_newest_words_and_no_other_is_touched(before in listing(), number in 1_u64..5, attempt in 1_u32..3) {
        let draft = draft(number, attempt, "new");
        let after = carried_out(before.clone(), &draft);
        let ours: Vec<&Comment> = after.iter().filter(|comment| is_ours(comment)).collect();
        prop_assert_eq!(ours.len(), 1);
        let runs = before.iter().filter(|comment| is_ours(comment)).filter_map(|comment| Some(Marker::at_start(&comment.body)?.run));
        let newest = runs.chain([draft.marker.run]).max();
        prop_assert_eq!(Marker::at_start(&ours[0].body).map(|marker| marker.run), newest);
        if let Some(first) = before.iter().find(|comment| is_ours(comment)) {
            prop_assert_eq!(ours[0].id, first.id);
        }
        let others = |comments: &[Comment]| comments.iter().filter(|comment| !is_ours(comment)).cloned().collect::<Vec<_>>();
        prop_assert_eq!(others(&before), others(&after));
        // Done twice is done once.
        let settled = plan(&after, BOT, &draft);
        prop_assert!(settled.surplus.is_empty() && matches!(settled.action, Action::Keep(_) | Action::Leave(_)), "{:?}", settled);
    }
}

#[test]
fn line_ends_that_github_changes_are_no_difference() {
    let draft = draft(7, 1, "one\ntwo\n");
    let comment = |body: String| Comment {
        id: 1,
        url: String::new(),
        author: BOT.to_owned(),
        body,
    };
    let text = draft.text(None);
    for body in [text.clone(), text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
        assert_eq!(plan(&[comment(body.clone())], BOT, &draft).action, Action::Keep(1), "{body:?}");
    }
    assert!(matches!(
        plan(&[comment(text.replace("two", "three"))], BOT, &draft).action,
        Action::Update(1, _)
    ));
}
