//! Words that stand for others in the descriptions of what a tool does: synonyms of general verbs and of nouns that occur on every
//! computer, and the everyday words of some other languages. Pure.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use super::tokenizer::stem;

/// The weight of a synonym, relative to the word in the query.
const SIMILAR: f32 = 0.2;

/// The weight of a translation.
const TRANSLATED: f32 = 0.5;

/// One group of synonyms per line; a word may be in several groups. No words of a subject area: those are in the tools' own
/// descriptions.
const GROUPS: &str = "\
get fetch retrieve read obtain load
search find lookup query discover
create make add new generate build
delete remove erase
update edit modify change set
list show display enumerate
send post publish submit
run execute
download save
convert transform
calculate compute
copy duplicate clone
start launch open
stop end terminate
check validate verify
compare diff
combine merge join
extract parse
summarize summary
folder directory
file document
url link
email mail
repository repo
setting config configuration";

/// An English word per line, and what it is called in German, Spanish, French, Portuguese, Chinese and Japanese. The terms of the last two
/// are pairs of characters, so only words of two are here.
const TRANSLATIONS: &str = "\
get abrufen holen obtener obtenir obter 获取 取得
search suche suchen buscar chercher rechercher pesquisar 搜索 查询 検索
find finden encontrar trouver 查找
create erstellen anlegen crear créer criar 创建 作成
add hinzufügen añadir agregar ajouter adicionar 添加 追加
delete löschen eliminar borrar supprimer excluir 删除 削除
update aktualisieren actualizar atualizar 更新
edit bearbeiten editar modifier 编辑 編集
change ändern cambiar changer alterar 修改 変更
list auflisten listar lister 列出 列表 一覧
show anzeigen zeigen mostrar afficher 显示 表示
send senden schicken enviar envoyer 发送 送信
run ausführen ejecutar exécuter executar 运行 执行 実行
read lesen leer lire ler 读取 阅读
write schreiben escribir écrire escrever 写入 编写
download herunterladen descargar télécharger baixar 下载
save speichern guardar enregistrer salvar 保存
convert umwandeln konvertieren convertir converter 转换 変換
calculate berechnen calcular calculer 计算 計算
open öffnen abrir ouvrir 打开
start starten iniciar démarrer 启动 開始
stop stoppen detener arrêter parar 停止
check prüfen comprobar vérifier verificar 检查 確認
compare vergleichen comparar comparer 比较 比較
translate übersetzen traducir traduire traduzir 翻译 翻訳
summarize zusammenfassen resumir résumer 总结 要約
file datei dateien archivo fichier arquivo 文件
folder ordner verzeichnis carpeta dossier pasta 目录
document dokument documento 文档 文書
page seite página 页面
website webseite 网站 网页
image bild bilder imagen imagem 图片 图像 画像
video vídeo vidéo 视频 動画
music musik música musique 音乐 音楽
message nachricht nachrichten mensaje mensagem 消息
email correo courriel 邮件
contact kontakt contacto contato 联系
calendar kalender calendario calendrier 日历
event termin termine evento événement 事件 予定
meeting besprechung reunión réunion reunião 会议 会議
task aufgabe aufgaben tarea tâche tarefa 任务
user benutzer usuario utilisateur usuário 用户
time zeit uhrzeit tiempo temps tempo 时间 時間
date datum fecha 日期 日付
weather wetter clima météo 天气 天気
news neuigkeiten noticias actualités notícias 新闻
map karte mapa carte 地图 地図
address adresse dirección endereço 地址 住所
route ruta itinéraire rota 路线 経路
flight flug vuelo vol voo 航班
train zug tren trem 火车 列車
ticket fahrkarte billete billet 车票
price preis precio prix preço 价格 価格
stock aktie aktien acción ação 股票 株価
order bestellung pedido commande 订单 注文
product produkt producto produit produto 产品 商品
customer kunde kunden cliente 客户 顧客
invoice rechnung factura facture fatura 发票
payment zahlung pago paiement pagamento 支付
database datenbank 数据
table tabelle tabla tableau tabela 表格
text texto texte 文本
language sprache idioma langue 语言 言語
recipe rezept receta recette receita 菜谱";

/// A word that stands for another, and how much it counts.
pub(super) type Similar = (String, f32);

/// What stands for a term, without itself: its synonyms and translations, and the synonyms of what it translates.
pub(super) fn similar(term: &str) -> &'static [Similar] {
    static SIMILAR: LazyLock<HashMap<String, Vec<Similar>>> = LazyLock::new(table);
    SIMILAR.get(term).map_or(&[], Vec::as_slice)
}

fn table() -> HashMap<String, Vec<Similar>> {
    let mut synonyms: HashMap<String, BTreeMap<String, f32>> = HashMap::new();
    for group in GROUPS.lines() {
        let terms = stems(group);
        for term in &terms {
            let others = terms.iter().filter(|other| *other != term);
            let others = others.map(|other| (other.clone(), SIMILAR));
            synonyms.entry(term.clone()).or_default().extend(others);
        }
    }
    let mut table = synonyms.clone();
    for line in TRANSLATIONS.lines() {
        let terms = stems(line);
        let Some((english, translations)) = terms.split_first() else {
            continue;
        };
        for other in translations.iter().filter(|other| *other != english) {
            let of_english = table.entry(english.clone()).or_default();
            of_english.insert(other.clone(), TRANSLATED);
            let of_other = table.entry(other.clone()).or_default();
            for (synonym, weight) in synonyms.get(english).into_iter().flatten() {
                of_other.entry(synonym.clone()).or_insert(*weight);
            }
            of_other.insert(english.clone(), TRANSLATED);
            of_other.remove(other);
        }
    }
    let listed = table
        .into_iter()
        .map(|(term, others)| (term, others.into_iter().collect()));
    listed.collect()
}

fn stems(line: &str) -> Vec<String> {
    line.split_whitespace().map(stem).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::tokenizer::tokens_of;

    #[track_caller]
    fn weight(term: &str, other: &str) -> Option<f32> {
        let other = stem(other);
        let found = similar(&stem(term)).iter().find(|(term, _)| *term == other);
        found.map(|(_, weight)| *weight)
    }

    #[test]
    fn words_of_a_group_are_synonyms() {
        for (term, other) in [
            ("fetch", "get"),
            ("get", "fetch"),
            ("directories", "folder"),
        ] {
            assert_eq!(weight(term, other), Some(SIMILAR), "{term} {other}");
        }
        assert_eq!(
            (weight("get", "get"), weight("get", "delete")),
            (None, None)
        );
        assert!(similar("zebra").is_empty());
    }

    #[test]
    fn words_of_other_languages_stand_for_english_ones_and_for_their_synonyms() {
        for (term, other, expected) in [
            ("suchen", "search", Some(TRANSLATED)),
            ("search", "搜索", Some(TRANSLATED)),
            ("suchen", "find", Some(SIMILAR)),
            ("find", "suchen", None),
            ("suchen", "suchen", None),
        ] {
            assert_eq!(weight(term, other), expected, "{term} {other}");
        }
    }

    #[test]
    fn every_line_has_words_that_differ() {
        for line in GROUPS.lines().chain(TRANSLATIONS.lines()) {
            let words: BTreeSet<String> = stems(line).into_iter().collect();
            assert!(words.len() > 1, "{line:?}");
        }
    }

    /// Nothing else is one term in the index.
    #[test]
    fn words_without_blanks_are_pairs_of_characters() {
        for word in TRANSLATIONS.split_whitespace() {
            let terms = tokens_of(word);
            let is_one = terms.iter().any(|term| term.text == stem(word));
            assert!(is_one, "{word} is no term");
        }
    }
}
